package provider

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// keyAnswers is the key of private state for what generators were told: by Read for the plan, by
// ModifyPlan for the apply of an update. Nothing of a Secret but names, addresses, labels and
// annotations of clusters is ever in it.
const keyAnswers = "answers"

// answersVersion is the version of storedAnswers; one that is not known is read as nothing.
const answersVersion = 1

// longestAnswers bounds what is unpacked, in bytes: nothing that a plan has stored is longer.
const longestAnswers = 256 << 20

// storedAnswers is the stored form of appset.Answers: its JSON, compressed, for it may be long and
// is much alike.
type storedAnswers struct {
	Version int `json:"version"`
	// Gzip is base64 in JSON.
	Gzip []byte `json:"gzip,omitempty"`
}

// readAnswers returns no answers where none are stored, or such as this provider does not know: then
// everything is asked anew.
func readAnswers(ctx context.Context, from privateReader) (appset.Answers, diag.Diagnostics) {
	stored, ok, diags := readPrivate[storedAnswers](ctx, from, keyAnswers)
	if !ok || stored.Version != answersVersion || len(stored.Gzip) == 0 {
		return appset.Answers{}, diags
	}
	var answers appset.Answers
	raw, err := unzip(stored.Gzip)
	if err == nil {
		err = json.Unmarshal(raw, &answers)
	}
	if err != nil {
		diags.AddError("Damaged private state", fmt.Sprintf("The private data %q that this provider stored in Terraform's state cannot be read: %s.", keyAnswers, err))
		return appset.Answers{}, diags
	}
	return answers, diags
}

func unzip(packed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(reader, longestAnswers))
}

// writeAnswers stores answers; a set whose generators ask nothing stores none.
func writeAnswers(ctx context.Context, to privateWriter, answers appset.Answers) diag.Diagnostics {
	stored := storedAnswers{Version: answersVersion}
	if !answers.Empty() {
		raw, err := json.Marshal(answers)
		if err == nil {
			stored.Gzip, err = zip(raw)
		}
		if err != nil {
			return diag.Diagnostics{diag.NewErrorDiagnostic("Private state cannot be written", err.Error())}
		}
	}
	return writePrivate(ctx, to, keyAnswers, stored)
}

func zip(raw []byte) ([]byte, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(raw); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
