package argocd

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

const (
	recordVersion  = 1
	recordLabel    = "argocdprogressive.io/record"
	recordHead     = "head"
	recordPart     = "part"
	recordPartSize = 900 << 10
)

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func recordName(owner Owner) string { return "argocdprogressive-" + owner.Hash() }

func recordPartName(owner Owner, digest string, n int) string {
	return fmt.Sprintf("%s-%s-%d", recordName(owner), digest[:8], n)
}

// encodeRecord returns the head and the parts that hold r.
func encodeRecord(owner Owner, r *Record) (head *unstructured.Unstructured, parts []*unstructured.Unstructured, err error) {
	payload := r.Payload
	if n := len(payload.Rollouts); n > KeptRollouts {
		payload.Rollouts = payload.Rollouts[n-KeptRollouts:]
	}
	packed, err := pack(payload)
	if err != nil {
		return nil, nil, fmt.Errorf("the record of ApplicationSet %s cannot be encoded: %w", owner, err)
	}
	sum := sha256.Sum256(packed)
	digest := hex.EncodeToString(sum[:])
	chunks := slices.Collect(slices.Chunk(packed, recordPartSize))
	for i, chunk := range chunks[1:] {
		parts = append(parts, recordConfigMap(owner, recordPartName(owner, digest, i+1), recordPart, nil, chunk))
	}
	head = recordConfigMap(owner, recordName(owner), recordHead, map[string]any{
		"version": strconv.Itoa(recordVersion),
		"owner":   owner.String(),
		"token":   r.Token,
		"state":   string(r.State),
		"digest":  digest,
		"parts":   strconv.Itoa(len(parts)),
	}, chunks[0])
	if r.version != "" {
		head.SetResourceVersion(r.version)
	}
	return head, parts, nil
}

func recordConfigMap(owner Owner, name, kind string, data map[string]any, payload []byte) *unstructured.Unstructured {
	cm := &unstructured.Unstructured{Object: map[string]any{
		"binaryData": map[string]any{"payload": base64.StdEncoding.EncodeToString(payload)},
	}}
	if data != nil {
		cm.Object["data"] = data
	}
	cm.SetGroupVersionKind(configMapKind)
	cm.SetNamespace(owner.Namespace)
	cm.SetName(name)
	cm.SetLabels(map[string]string{SetLabel: owner.Hash(), recordLabel: kind})
	return cm
}

// recordHeader is what the head says besides the payload.
type recordHeader struct {
	record *Record
	digest string
	parts  int
}

// decodeHead reads everything of a head but the payload.
func decodeHead(owner Owner, head *unstructured.Unstructured) (recordHeader, error) {
	data := dict(head.Object, "data")
	version, err := strconv.Atoi(text(data, "version"))
	if err != nil || version < 1 {
		return recordHeader{}, damaged(owner, fmt.Errorf("data.version is %q", text(data, "version")))
	}
	if version > recordVersion {
		return recordHeader{}, fmt.Errorf("the record of ApplicationSet %s (ConfigMap %s) has version %d, this provider knows up to %d: %w; upgrade the provider",
			owner, recordName(owner), version, recordVersion, ErrTooNew)
	}
	if named := text(data, "owner"); named != owner.String() {
		return recordHeader{}, &RecordDamagedError{Set: owner, Of: named, Err: fmt.Errorf("data.owner is %q", named)}
	}
	parts, err := strconv.Atoi(text(data, "parts"))
	if digest := text(data, "digest"); err != nil || parts < 0 || len(digest) != 2*sha256.Size {
		return recordHeader{}, damaged(owner, fmt.Errorf("data.parts is %q and data.digest %q", text(data, "parts"), digest))
	}
	return recordHeader{
		record: &Record{
			Token: text(data, "token"), State: State(text(data, "state")),
			version: head.GetResourceVersion(), parts: parts,
		},
		digest: text(data, "digest"),
		parts:  parts,
	}, nil
}

// chunkOf is the piece of the payload in a head or a part.
func chunkOf(cm *unstructured.Unstructured) ([]byte, error) {
	return base64.StdEncoding.DecodeString(text(cm.Object, "binaryData", "payload"))
}

// pack makes gzip'd JSON.
func pack(payload Payload) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if err := stdjson.NewEncoder(zip).Encode(payload); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// unpack is the reverse of pack, and checks the digest. Whole numbers stay whole.
func unpack(packed []byte, digest string) (payload Payload, err error) {
	if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != digest {
		return payload, fmt.Errorf("the payload does not have the digest %s", digest)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return payload, err
	}
	content, err := io.ReadAll(zip)
	if err != nil {
		return payload, err
	}
	if err := json.Unmarshal(content, &payload); err != nil {
		return payload, err
	}
	payload.withoutBlanks()
	return payload, nil
}

// withoutBlanks makes results and outcomes of earlier versions those of today: they were "timed out"
// and "held back".
func (p *Payload) withoutBlanks() {
	for i := range p.Rollouts {
		r := &p.Rollouts[i]
		r.Result = strings.ReplaceAll(r.Result, " ", "_")
		for j := range r.Outcomes {
			r.Outcomes[j].Outcome = strings.ReplaceAll(r.Outcomes[j].Outcome, " ", "_")
		}
	}
}

// RecordDamagedError says that the stored record of a set cannot be read.
type RecordDamagedError struct {
	// Set is whose record was looked for.
	Set Owner
	// Of is whose record it says to be, where that is another set.
	Of string
	// Err is what is wrong with it.
	Err error
}

func (e *RecordDamagedError) Error() string {
	return fmt.Sprintf("the record of ApplicationSet %s (ConfigMap %s/%s) is damaged: %s", e.Set, e.Set.Namespace, recordName(e.Set), e.Err)
}

func (e *RecordDamagedError) Unwrap() error { return e.Err }

// ShowByHand is the command that shows the head of the record.
func (e *RecordDamagedError) ShowByHand() string {
	return fmt.Sprintf("kubectl -n %s get configmap %s -o yaml", e.Set.Namespace, recordName(e.Set))
}

// DeleteByHand is the command that gives the record up, with all its parts. It touches no Application.
func (e *RecordDamagedError) DeleteByHand() string {
	return fmt.Sprintf("kubectl -n %s delete configmaps -l %s=%s", e.Set.Namespace, SetLabel, e.Set.Hash())
}

func damaged(owner Owner, err error) error { return &RecordDamagedError{Set: owner, Err: err} }
