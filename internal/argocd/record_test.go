package argocd

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var shop = Owner{Namespace: "argocd", Name: "shop"}

// bigPayload is a little more than size bytes when compressed.
func bigPayload(t *testing.T, size int) Payload {
	t.Helper()
	noise := make([]byte, size)
	source := rand.NewChaCha8([32]byte{})
	if _, err := source.Read(noise); err != nil {
		t.Fatal(err)
	}
	return Payload{Proven: map[string]string{"dev": base64.StdEncoding.EncodeToString(noise)}}
}

func smallRecord() *Record {
	return &Record{
		Token: "5b8c0f5e", State: StateComplete,
		Payload: Payload{
			ApplicationSet: map[string]any{"spec": map[string]any{"goTemplate": true, "weight": int64(3), "ratio": 0.5}},
			Proven:         map[string]string{"dev": "main@1f3a9c2 #5be0"},
			Rollouts: []Rollout{{
				ID: "r-1", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Ended: time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC), Actor: "ci",
				Pins:     []Pin{{RepoURL: "https://git.example.com/shop.git", TargetRevision: "main", Revision: "1f3a9c2"}},
				Outcomes: []Outcome{{Step: "step 01", Outcome: "done"}},
			}},
			Previous: map[string]map[string]any{"dev": {"project": "default", "revisionHistoryLimit": int64(5)}},
		},
	}
}

// reassemble decodes what encodeRecord made, as LoadRecord does from the cluster.
func reassemble(t *testing.T, owner Owner, head *unstructured.Unstructured, parts []*unstructured.Unstructured) (*Record, error) {
	t.Helper()
	header, err := decodeHead(owner, head)
	if err != nil {
		return nil, err
	}
	if header.parts != len(parts) {
		t.Fatalf("the head announces %d parts, there are %d", header.parts, len(parts))
	}
	var packed []byte
	for i, cm := range append([]*unstructured.Unstructured{head}, parts...) {
		if i > 0 && cm.GetName() != recordPartName(owner, header.digest, i) {
			t.Errorf("part %d is called %s", i, cm.GetName())
		}
		chunk, err := chunkOf(cm)
		if err != nil {
			return nil, err
		}
		if len(chunk) > recordPartSize {
			t.Errorf("%s holds %d bytes", cm.GetName(), len(chunk))
		}
		packed = append(packed, chunk...)
	}
	header.record.Payload, err = unpack(packed, header.digest)
	return header.record, err
}

// reread encodes a record and decodes it; parts are what did not fit into its head.
func reread(t *testing.T, r *Record) (got *Record, parts []*unstructured.Unstructured) {
	t.Helper()
	head, parts, err := encodeRecord(shop, r)
	if err != nil {
		t.Fatal(err)
	}
	got, err = reassemble(t, shop, head, parts)
	if err != nil {
		t.Fatal(err)
	}
	return got, parts
}

func TestRecordRoundTrip(t *testing.T) {
	r := smallRecord()
	got, parts := reread(t, r)
	if !reflect.DeepEqual(got, r) {
		t.Errorf("got  %+v\nwant %+v", got, r)
	}
	if len(parts) != 0 {
		t.Errorf("a small record has %d parts", len(parts))
	}
}

func TestRecordAboveTheSizeOfAConfigMapIsSplit(t *testing.T) {
	r := &Record{Token: "t", State: StateCreating, Payload: bigPayload(t, 2*recordPartSize+1000)}
	head, parts, err := encodeRecord(shop, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) != 2 {
		t.Fatalf("%d parts, want 2", len(parts))
	}
	got, err := reassemble(t, shop, head, parts)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Payload, r.Payload) {
		t.Error("the payload changed on its way")
	}
	parts[0], parts[1] = parts[1], parts[0]
	if _, err := unpackParts(head, parts); err == nil {
		t.Error("parts in the wrong order were accepted")
	}
}

func unpackParts(head *unstructured.Unstructured, parts []*unstructured.Unstructured) (Payload, error) {
	var packed []byte
	for _, cm := range append([]*unstructured.Unstructured{head}, parts...) {
		chunk, err := chunkOf(cm)
		if err != nil {
			return Payload{}, err
		}
		packed = append(packed, chunk...)
	}
	return unpack(packed, text(head.Object, "data", "digest"))
}

func TestRecordKeepsTheLastRollouts(t *testing.T) {
	r := smallRecord()
	for i := range 3 * KeptRollouts {
		r.Rollouts = append(r.Rollouts, Rollout{ID: fmt.Sprint(i)})
	}
	got, _ := reread(t, r)
	if n := len(got.Rollouts); n != KeptRollouts || got.Rollouts[n-1].ID != fmt.Sprint(3*KeptRollouts-1) {
		t.Errorf("%d rollouts, the last is %s", n, got.Rollouts[n-1].ID)
	}
}

// isStored fails unless the record in a file, as a version of this provider has stored it, is read as want.
func isStored(t *testing.T, file string, want *Record) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	got, err := reassemble(t, shop, asObject(t, object), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// The fixture is what version 1 stored; later versions must read it for ever.
func TestRecordOfVersion1IsRead(t *testing.T) {
	want := smallRecord()
	want.version = "4711"
	isStored(t, "testdata/record-v1.yaml", want)
}

// fullRecord has everything that a record can hold.
func fullRecord() *Record {
	r := smallRecord()
	r.Targets = map[string]Target{"dev": {Step: "step 01", Mode: "sync", Hash: "5be0", Revisions: []string{"1f3a9c2"}}, "prod": {Step: "step 02", Mode: "manual", Hash: "5be1"}}
	last := &r.Rollouts[0]
	last.Result, last.Reason = ResultFailed, "prod: degraded"
	last.Outcomes = []Outcome{
		{Step: "step 01", Outcome: "done", Started: last.Started, Ended: last.Started.Add(20 * time.Second), Done: 1, Applications: 1},
		{Step: "step 02", Outcome: "failed", Started: last.Started.Add(20 * time.Second), Ended: last.Ended, Applications: 1},
	}
	return r
}

// The fixture is what is stored since records have targets and the times of each step.
func TestRecordWithTimesOfStepsIsRead(t *testing.T) {
	want := fullRecord()
	want.version = "4712"
	isStored(t, "testdata/record-v1-steps.yaml", want)
}

func TestRecordOfEarlierVersionsHasTheOutcomesOfToday(t *testing.T) {
	r := fullRecord()
	r.Rollouts[0].Result, r.Rollouts[0].Outcomes[0].Outcome = "timed out", "held back"
	got, _ := reread(t, r)
	last := got.Rollouts[0]
	if last.Result != ResultTimedOut || last.Outcomes[0].Outcome != "held_back" || last.Outcomes[1].Outcome != "failed" || last.Reason != "prod: degraded" {
		t.Errorf("it is read as %+v", last)
	}
}

// A downgrade reads what it knows, and records without the rest are written by it.
func TestRecordIsReadByThoseWhoDoNotKnowItsNewerFields(t *testing.T) {
	head, _, err := encodeRecord(shop, fullRecord())
	if err != nil {
		t.Fatal(err)
	}
	if version := text(head.Object, "data", "version"); version != "1" {
		t.Errorf("the version is %s", version)
	}
	packed, err := chunkOf(head)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var first struct { // as of the first version
		ApplicationSet map[string]any    `json:"applicationSet"`
		Proven         map[string]string `json:"proven"`
		Rollouts       []struct {
			ID             string    `json:"id"`
			Started, Ended time.Time `json:",omitzero"`
			Actor          string    `json:"actor"`
			Pins           []Pin     `json:"pins"`
			Outcomes       []struct {
				Step    string `json:"step"`
				Outcome string `json:"outcome"`
			} `json:"outcomes"`
		} `json:"rollouts"`
		Previous map[string]map[string]any `json:"previous"`
	}
	if err := json.NewDecoder(zip).Decode(&first); err != nil {
		t.Fatal(err)
	}
	if r := first.Rollouts; len(r) != 1 || r[0].ID != "r-1" || r[0].Actor != "ci" || len(r[0].Outcomes) != 2 || r[0].Outcomes[1].Outcome != "failed" {
		t.Errorf("it reads %+v", first)
	}
}
