package appset

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// decodeCase decodes one of the reference inputs in testdata/cases.
func decodeCase(t *testing.T, file string) (*Set, Issues) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "cases", file))
	if err != nil {
		t.Fatal(err)
	}
	tree, issues := DecodeManifest(text)
	if issues.HasErrors() {
		t.Fatalf("DecodeManifest: %s", issues)
	}
	metadata := tree["metadata"].(map[string]any)
	return Decode(metadata["name"].(string), metadata["namespace"].(string), tree["spec"].(map[string]any))
}

func TestGuestbookRendersThreeApplicationsInThreeSteps(t *testing.T) {
	set, issues := decodeCase(t, "guestbook-progressive.yaml")
	if len(issues) > 0 {
		t.Fatalf("Decode: %s", issues)
	}
	apps := rendered(t, set)
	wantSteps := map[string]int{"engineering-dev-guestbook": 0, "engineering-qa-guestbook": 1, "engineering-prod-guestbook": 2}
	if len(apps) != len(wantSteps) {
		t.Fatalf("got %d Applications", len(apps))
	}
	for _, app := range apps {
		steps, maybe := set.Strategy.StepsFor(app)
		if want, ok := wantSteps[app.Name]; !ok || !slices.Equal(steps, []int{want}) || maybe != nil {
			t.Errorf("%s: steps %v, maybe %v, want [%d]", app.Name, steps, maybe, want)
		}
	}
	wantLabels := []string{"step 01: envLabel in [env-dev]", "step 02: envLabel in [env-qa]", "step 03: envLabel in [env-prod]"}
	if got := set.Strategy.Labels(); !slices.Equal(got, wantLabels) {
		t.Errorf("labels %q", got)
	}
	if !set.Strategy.Steps[1].MaxUpdate.Manual() || set.Strategy.Steps[2].MaxUpdate.String() != "10%" || !set.Strategy.ReverseDeletion {
		t.Errorf("strategy %+v", set.Strategy)
	}
	prod := apps[1]
	if got := prod.Object["spec"].(map[string]any)["destination"].(map[string]any)["server"]; got != "https://9.8.7.6/" {
		t.Errorf("server %v", got)
	}
	if want := (Source{RepoURL: "https://github.com/infra-team/cluster-deployments.git", Path: "guestbook/engineering-prod", TargetRevision: "HEAD"}); prod.Sources[0] != want {
		t.Errorf("source %+v", prod.Sources[0])
	}
	if got := set.CheckSteps(apps); len(got) > 0 {
		t.Errorf("CheckSteps: %s", got)
	}
}
