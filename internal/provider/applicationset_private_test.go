package provider

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

func TestPinsAreReadFromPrivateStateAsTheyWereStored(t *testing.T) {
	want := rollout.Pins{
		{RepoURL: "https://git/x", TargetRevision: "main"}:                    shaA,
		{RepoURL: "https://git/x", TargetRevision: "1.x", TagPrefix: "web/"}:  shaA,
		{RepoURL: "https://git/x", TargetRevision: "1.x", TagPrefix: "api/"}:  shaB,
		{RepoURL: "https://charts/x", Chart: "podinfo", TargetRevision: ">1"}: "6.1.0",
	}
	stored, err := json.Marshal(newTargets(want, nil))
	if err != nil {
		t.Fatal(err)
	}
	var read targets
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	if got := read.pins(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
