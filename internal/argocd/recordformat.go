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
		return recordHeader{}, fmt.Errorf("ConfigMap %s/%s is the record of ApplicationSet %q, not of %s: choose another name for one of them",
			owner.Namespace, recordName(owner), named, owner)
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

// damaged says how to go on without a record that cannot be read.
func damaged(owner Owner, err error) error {
	return fmt.Errorf("the record of ApplicationSet %s is damaged: %w. Restore the ConfigMap from a backup; or give up the history with "+
		"\"kubectl delete configmap -n %s -l %s=%s\", which touches no Application", owner, err, owner.Namespace, SetLabel, owner.Hash())
}
