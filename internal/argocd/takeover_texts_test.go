package argocd

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
)

// patchCommand is a kubectl patch as it is printed.
var patchCommand = regexp.MustCompile(`kubectl -n (\S+) patch (\S+) (\S+) --type=(json|merge) -p '([^']*)'`)

// follow does what the patches in a text do, one after the other, until one fails. It returns how many have not.
func follow(t *testing.T, cluster *fake.FakeDynamicClient, text string) int {
	t.Helper()
	kinds := map[string]schema.GroupVersionResource{"applicationsets.argoproj.io": applicationSets, "applications.argoproj.io": applications}
	found := patchCommand.FindAllStringSubmatch(text, -1)
	if len(found) != strings.Count(text, " patch ") {
		t.Fatalf("not all patches are understood in %s", text)
	}
	for i, m := range found {
		kind, names := types.JSONPatchType, []string{m[3]}
		if m[4] == "merge" {
			if kind = types.MergePatchType; !sameUID(t, cluster, kinds[m[2]], m[1], m[3], m[5]) {
				return i
			}
		}
		if m[3] == `"$app"` {
			names = applicationsOf(t, cluster, m[1], text)
		}
		for _, name := range names {
			if _, err := cluster.Resource(kinds[m[2]]).Namespace(m[1]).Patch(t.Context(), name, kind, []byte(m[5]), metav1.PatchOptions{}); err != nil {
				return i
			}
		}
	}
	return len(found)
}

// sameUID tells what an API server asks of a merge patch that has a UID.
func sameUID(t *testing.T, cluster *fake.FakeDynamicClient, kind schema.GroupVersionResource, namespace, name, body string) bool {
	t.Helper()
	var patch map[string]any
	if err := json.Unmarshal([]byte(body), &patch); err != nil {
		t.Fatal(err)
	}
	object, err := cluster.Resource(kind).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	return err == nil && text(patch, "metadata", "uid") == string(object.GetUID())
}

// applicationsOf are those that a loop in the text is about.
func applicationsOf(t *testing.T, cluster *fake.FakeDynamicClient, namespace, text string) []string {
	t.Helper()
	uid := regexp.MustCompile(`ownerReferences\[0\]\.uid=="([^"]+)"`).FindStringSubmatch(text)
	all, err := cluster.Resource(applications).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || uid == nil {
		t.Fatalf("no Applications are selected (%v) in %s", err, text)
	}
	var names []string
	for i := range all.Items {
		if refs := all.Items[i].GetOwnerReferences(); len(refs) > 0 && string(refs[0].UID) == uid[1] {
			names = append(names, all.Items[i].GetName())
		}
	}
	return names
}

// strategy is a change of the set's strategy; nil removes it.
func strategy(s map[string]any) func(*unstructured.Unstructured) {
	return func(set *unstructured.Unstructured) {
		spec := dict(set.Object, "spec")
		if delete(spec, "strategy"); s != nil {
			spec["strategy"] = s
		}
	}
}

func TestTheCommandThatThawsUndoesTheFreezingAndNothingElse(t *testing.T) {
	for name, edit := range map[string]func(*unstructured.Unstructured){
		"Reverse":           strategy(map[string]any{"type": "RollingSync", "deletionOrder": "Reverse"}),
		"AllAtOnce":         strategy(map[string]any{"type": "RollingSync", "deletionOrder": "AllAtOnce"}),
		"no deletionOrder":  strategy(map[string]any{"type": "RollingSync"}),
		"no strategy":       strategy(nil),
		"an order with a '": strategy(map[string]any{"deletionOrder": "it's"}),
	} {
		c, cluster := moving(controller(t, false), inCluster(edit))
		before := inCluster(edit).Object["spec"]
		if err := c.freezeSet(t.Context(), movedSet, "uid-1"); err != nil {
			t.Fatal(err)
		}
		set, err := c.InCluster(t.Context(), movedSet)
		if err != nil || !set.Frozen() {
			t.Fatalf("%s: it is not frozen (%v)", name, err)
		}
		command := set.ThawByHand()
		if strings.Contains(name, "'") {
			if !strings.Contains(command, `"it'\''s"`) {
				t.Errorf("%s: a shell would not take %s", name, command)
			}
			continue
		}
		if fromRecord := thawByHand("argocd", "web", orderBefore(inCluster(edit).Object)); fromRecord != command {
			t.Errorf("%s: by the record it is %s, and by the set %s", name, fromRecord, command)
		}
		if follow(t, cluster, command) != 1 {
			t.Errorf("%s: the set cannot be thawed: %s", name, command)
		}
		// Once more, and of a set that was never frozen: the generator that is the first one now is the user's.
		for range 2 {
			if set, err = c.InCluster(t.Context(), movedSet); err != nil || !reflect.DeepEqual(set.object.Object["spec"], before) {
				t.Errorf("%s: the spec is %v (%v), not %v", name, set.object.Object["spec"], err, before)
			}
			if follow(t, cluster, command) != 0 {
				t.Errorf("%s: what is not frozen was changed by %s", name, command)
			}
		}
	}
}

func TestTheGuideHasTheCommandThatThaws(t *testing.T) {
	content, err := os.ReadFile("../../templates/guides/moving.md")
	if err != nil {
		t.Fatal(err)
	}
	guide, printed := patchCommand.FindStringSubmatch(string(content)), patchCommand.FindStringSubmatch(thawByHand("argocd", "guestbook", "Reverse"))
	var bodies [2]any
	for i, found := range [][]string{guide, printed} {
		if found == nil {
			t.Fatal("there is no command")
		}
		if err := json.Unmarshal([]byte(found[5]), &bodies[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(guide[1:5], printed[1:5]) || !reflect.DeepEqual(bodies[0], bodies[1]) {
		t.Errorf("the guide has %q, and the provider prints %q", guide[0], printed[0])
	}
}

func TestTheCommandsThatDeleteByHandAreForThatSetAlone(t *testing.T) {
	theirs := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "uid-9"}
	for name, edit := range map[string]func(*unstructured.Unstructured){
		"Reverse": strategy(map[string]any{"type": "RollingSync", "deletionOrder": "Reverse"}), "no strategy": strategy(nil),
	} {
		text := (&InCluster{inCluster(edit)}).DeleteByHand()
		if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) < 5 || !strings.HasSuffix(lines[3], " &&") ||
			lines[4] != "  kubectl -n argocd delete applicationsets.argoproj.io web --cascade=orphan" || strings.Count(text, "by-hand-7") != 2 {
			t.Errorf("%s: the commands are %s", name, text)
		}
		c, cluster := moving(controller(t, false), inCluster(edit), owned("a", bySet()), owned("b", theirs))
		if follow(t, cluster, text) != 3 {
			t.Errorf("%s: one of them fails: %s", name, text)
		}
		set, err := c.InCluster(t.Context(), movedSet)
		if err != nil || !set.Frozen() || orderBefore(set.object.Object) != "" {
			t.Errorf("%s: the set is %v (%v)", name, set, err)
		}
		for app, want := range map[string][]metav1.OwnerReference{"a": nil, "b": {theirs}} {
			o, err := cluster.Resource(applications).Namespace("argocd").Get(t.Context(), app, metav1.GetOptions{})
			if err != nil || len(o.GetOwnerReferences()) != len(want) {
				t.Errorf("%s: %s is owned by %v (%v)", name, app, o.GetOwnerReferences(), err)
			}
		}
		if undo := set.ThawByHand(); follow(t, cluster, undo) != 1 {
			t.Errorf("%s: it cannot be undone: %s", name, undo)
		}
		another := func(set *unstructured.Unstructured) { set.SetUID("uid-2") }
		_, cluster = moving(controller(t, false), inCluster(edit, another))
		if n := follow(t, cluster, text); n != 0 {
			t.Errorf("%s: %d of them change another set", name, n)
		}
	}
	text := deleteWithoutController(movedSet, "uid-1")
	finalized := func(set *unstructured.Unstructured) { set.SetFinalizers([]string{resourcesFinalizer}) }
	c, cluster := moving(controller(t, false), inCluster(finalized), owned("a", bySet()))
	if follow(t, cluster, text) != 2 || !strings.Contains(text, "--cascade=orphan") {
		t.Errorf("one of them fails: %s", text)
	}
	set, err := c.InCluster(t.Context(), movedSet)
	if err != nil || len(set.object.GetFinalizers()) > 0 || orderBefore(set.object.Object) != "" {
		t.Errorf("the set is %v (%v)", set, err)
	}
}

func TestTheCommandsThatRemoveReferencesRemoveNoOthers(t *testing.T) {
	ref := func(uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "Team", Name: string(uid), UID: uid}
	}
	by := func(refs ...metav1.OwnerReference) func(*unstructured.Unstructured) {
		return func(set *unstructured.Unstructured) { set.SetOwnerReferences(refs) }
	}
	refusals := (&InCluster{inCluster(by(ref("1"), ref("2")))}).refusals(origins{})
	if len(refusals) != 2 {
		t.Fatalf("the refusals are %v", refusals)
	}
	for name, test := range map[string]struct {
		live []metav1.OwnerReference
		left int
	}{
		"as it was":       {[]metav1.OwnerReference{ref("1"), ref("2")}, 1},
		"already removed": {[]metav1.OwnerReference{ref("1")}, 1},
		"another one":     {[]metav1.OwnerReference{ref("1"), ref("3")}, 2},
	} {
		c, cluster := moving(controller(t, false), runtime.Object(inCluster(by(test.live...))))
		follow(t, cluster, refusals[1].Detail)
		set, err := c.InCluster(t.Context(), movedSet)
		if err != nil || len(set.object.GetOwnerReferences()) != test.left || set.object.GetOwnerReferences()[0].UID != "1" {
			t.Errorf("%s: it is owned by %v (%v)", name, set.object.GetOwnerReferences(), err)
		}
	}
}
