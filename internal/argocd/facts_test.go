package argocd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Each fixture is an Application as Argo CD 3.6.1 leaves it, and what its facts are. A field of
// rollout.Live that a fixture does not name is not checked by it.
func TestFactsOfFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/facts/*.json")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d fixtures found, %v", len(files), err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var fixture struct {
			Name        string
			Application map[string]any
			Live        map[string]any
		}
		if err := json.Unmarshal(content, &fixture); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json")+": "+fixture.Name, func(t *testing.T) {
			got := asJSON(t, Facts(asObject(t, fixture.Application), nil))
			for field, want := range fixture.Live {
				have, known := got[field]
				if !known {
					t.Fatalf("the fixture names a field %s that Live does not have", field)
				}
				if !reflect.DeepEqual(have, want) {
					t.Errorf("%s:\n got %v\nwant %v", field, have, want)
				}
			}
		})
	}
}

func TestFactsTellByArgoCDsClockWhenItCompared(t *testing.T) {
	app := liveApp("a", "u-a", "5")
	app["status"] = map[string]any{"reconciledAt": "2026-01-01T00:00:03Z", "operationState": map[string]any{"finishedAt": "2026-01-01T00:00:01Z"}}
	if l := Facts(asObject(t, app), nil); l.Compared.Sub(l.Ended) != 2*time.Second || l.Ended.IsZero() {
		t.Errorf("ended at %s, compared at %s", l.Ended, l.Compared)
	}
	if l := Facts(asObject(t, liveApp("a", "u-a", "5")), nil); !l.Ended.IsZero() || !l.Compared.IsZero() {
		t.Errorf("without a status, ended at %s, compared at %s", l.Ended, l.Compared)
	}
}

func TestFactsHashCountsOnlyWhatIsManaged(t *testing.T) {
	rendered := map[string]any{
		"metadata": map[string]any{"name": "dev", "labels": map[string]any{"env": "dev"}},
		"spec":     testSpec(),
	}
	want := appset.HashRendered(rendered)
	owner := Owner{Namespace: "argocd", Name: "shop"}
	obj := (&Client{}).buildApplication(owner, "dev", rendered, nil, "step 01", 3)
	obj.SetLabels(with(obj.GetLabels(), "argocd.argoproj.io/instance", "root"))
	obj.SetAnnotations(with(obj.GetAnnotations(), "notes", "hands off"))
	if got := Facts(obj, nil).Hash; got != want {
		t.Errorf("with foreign labels and annotations and our marks: hash %s, want %s", got, want)
	}
	obj.SetLabels(with(obj.GetLabels(), "env", "prod"))
	if got := Facts(obj, nil).Hash; got == want {
		t.Errorf("a managed label was changed, and the hash stays %s", got)
	}
}

func asObject(t *testing.T, v map[string]any) *unstructured.Unstructured {
	t.Helper()
	content, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	return obj
}

func asJSON(t *testing.T, v any) map[string]any {
	t.Helper()
	content, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(content, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

func testSpec() map[string]any {
	return map[string]any{
		"project":     "default",
		"source":      map[string]any{"repoURL": "https://git.example.com/shop.git", "path": "envs/dev", "targetRevision": "main"},
		"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "shop"},
	}
}

func TestAFailedOperationTellsWhatItIsAbout(t *testing.T) {
	for message, want := range map[string]rollout.Kind{
		"ComparisonError: app path does not exist. Retrying attempt #1 at 2026-01-01T10:00:00Z.": rollout.KindComparison,
		"InvalidSpecError: Application referencing project gone which does not exist":            rollout.KindProject,
		"InvalidSpecError: spec.source.repoURL is required":                                      rollout.KindInvalid,
		"UnknownError: error getting cluster by server \"https://1.2.3.4\": connection refused":  rollout.KindDestination,
		"UnknownError: Unauthorized": rollout.KindInvalid,
		"Failed to load application project: error getting app project \"gone\": appproject.argoproj.io \"gone\" not found": rollout.KindProject,
		"one or more objects failed to apply, reason: ComparisonError: no":                                                  "",
		"": "",
	} {
		if got := causeOf(message); got != want {
			t.Errorf("%q is %q, want %q", message, got, want)
		}
	}
}

func TestErrorConditionsTellWhatTheyAreAbout(t *testing.T) {
	for condition, want := range map[string]rollout.Kind{
		"InvalidSpecError: Application referencing project gone which does not exist":                                                                         rollout.KindProject,
		"InvalidSpecError: application repo https://git.example.com/a is not permitted in project 'p'":                                                        rollout.KindNotPermitted,
		"UnknownError: application 'a' in namespace 'team' is not permitted to use project 'p'":                                                               rollout.KindNotPermitted,
		"InvalidSpecError: application destination server 'https://1.2.3.4' and namespace 'prod' do not match any of the allowed destinations in project 'p'": rollout.KindNotPermitted,
		"InvalidSpecError: there are no clusters with this name: eu-7":                                                                                        rollout.KindDestination,
		"InvalidSpecError: error getting cluster by server \"https://1.2.3.4\": rpc error: code = NotFound desc = cluster \"https://1.2.3.4\" not found":      rollout.KindDestination,
		"UnknownError: error getting cluster by name \"eu-7\": Unauthorized":                                                                                  rollout.KindDestination,
		"UnknownError: Unauthorized": "",
		"InvalidSpecError: spec.source.repoURL and either spec.source.path or spec.source.chart are required": "",
	} {
		kind, message, _ := strings.Cut(condition, ": ")
		got := errorConditions([]map[string]any{{"type": kind, "message": message}, {"type": "OrphanedResourceWarning", "message": message}})
		if len(got) != 1 || got[0] != (rollout.Condition{Type: kind, Message: message, Kind: want}) {
			t.Errorf("%q is %+v, want kind %q", condition, got, want)
		}
	}
}
