package provider

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// applyAmong is an apply of argocd/guestbook, which generates names, on a cluster that has these Applications.
func applyAmong(t *testing.T, apps map[string]metadata, names ...string) *apply {
	t.Helper()
	m := modelOf(manifestOf("main", names...))
	content, diags := m.read(t.Context(), answering{})
	if diags.HasError() {
		t.Fatal(diags)
	}
	c, diags := resourceAmong(t, apps).connect(t.Context(), m, cluster{})
	if diags.HasError() {
		t.Fatal(diags)
	}
	return &apply{connected: c, content: content, settings: defaultSettings()}
}

func (a *apply) lives(names ...string) {
	for _, name := range names {
		a.live = append(a.live, rollout.Live{Name: name, StepLabel: stepDev})
	}
}

func TestASetIsNotForgottenWhileAnApplicationSaysThatItIsOfIt(t *testing.T) {
	hash := argocd.Owner{Namespace: "argocd", Name: "guestbook"}.Hash()
	labelled := ownedBy("argocd/guestbook")
	labelled["labels"] = map[string]any{argocd.SetLabel: hash}
	for name, c := range map[string]struct {
		apps map[string]metadata
		says []string
	}{
		"all of it is gone":            {nil, nil},
		"others have the names":        {map[string]metadata{"dev-1": ownedBy("argocd/billing"), "dev-2": {}}, nil},
		"others exist":                 {map[string]metadata{"stranger": ownedBy("argocd/guestbook")}, nil},
		"one was created again":        {map[string]metadata{"dev-2": labelled}, []string{"dev-2", "annotate applications.argoproj.io dev-2 argocdprogressive.io/owner-"}},
		"one had lost its label":       {map[string]metadata{"dev-1": ownedBy("argocd/guestbook")}, []string{"label applications.argoproj.io dev-1 " + argocd.SetLabel + "=" + hash}},
		"only the record knows of one": {map[string]metadata{"prod-1": ownedBy("argocd/guestbook")}, []string{"prod-1", "--show-managed-fields", "terraform destroy again"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := applyAmong(t, c.apps, "dev-1")
			a.lives("dev-1", "dev-2")
			a.record = &argocd.Record{Payload: argocd.Payload{Targets: map[string]argocd.Target{"dev-1": {}, "prod-1": {}}}}
			diags := a.nothingLeft(t.Context())
			if diags.HasError() != (len(c.says) > 0) {
				t.Fatalf("diagnostics %v", diags)
			}
			for _, text := range c.says {
				if !strings.Contains(diags[0].Detail(), text) {
					t.Errorf("no %q in:\n%s", text, diags[0].Detail())
				}
			}
			if name == "one was created again" && strings.Contains(diags[0].Detail(), "kubectl -n argocd label") {
				t.Errorf("one that has its label:\n%s", diags[0].Detail())
			}
		})
	}
}

func TestTheOrderOfADestroyIsKnownWithoutAConfiguration(t *testing.T) {
	recorded := func(order any) *argocd.Record {
		return &argocd.Record{Payload: argocd.Payload{ApplicationSet: map[string]any{"spec": map[string]any{"strategy": map[string]any{"deletionOrder": order}}}}}
	}
	for name, c := range map[string]struct {
		record *argocd.Record
		want   bool
	}{
		"no record":                      {nil, true},
		"a record without a set":         {&argocd.Record{}, true},
		"a record without a strategy":    {&argocd.Record{Payload: argocd.Payload{ApplicationSet: map[string]any{"spec": map[string]any{}}}}, false},
		"a record that says Reverse":     {recorded("Reverse"), true},
		"a record that says AllAtOnce":   {recorded("AllAtOnce"), false},
		"a record that says what is new": {recorded("ReverseTwice"), true},
	} {
		a := &apply{connected: &connected{record: c.record}}
		if got := a.reversed(); got != c.want {
			t.Errorf("%s: reversed is %v", name, got)
		}
	}
	a := applyAmong(t, nil, fleet...)
	a.record = recorded("AllAtOnce")
	if !a.reversed() {
		t.Error("the record counts more than the configuration")
	}
}

func TestPlanOfADestroyWithoutAReadableConfigurationSaysSo(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	state := stateOf(t, manifest, shaA).with(values{"manifest": strings.Replace(manifest, `"goTemplate":true`, `"goTemplate":"yes"`, 1)})
	p := planOf(t, state, nil, nil)
	all := strings.Join(p.warns, "\n")
	for _, text := range []string{"5 Applications of argocd/guestbook will be deleted", "cannot read the configuration in the state", "it is Reverse", stepProd + ": 3\n  " + stepDev + ": 2",
		"is taken from the record as well (preserve_resources_on_deletion); without a record, it stays"} {
		if !strings.Contains(all, text) {
			t.Errorf("no %q in %q", text, all)
		}
	}
	if strings.Contains(all, "AllAtOnce") || len(p.errors) > 0 {
		t.Errorf("the plan says %q %q", p.errors, all)
	}
}

func TestADestroyWithoutAReadableConfigurationLeavesWhatTheRecordPreserves(t *testing.T) {
	recorded := func(syncPolicy any, finalizers ...any) *argocd.Record {
		return &argocd.Record{Payload: argocd.Payload{ApplicationSet: map[string]any{"spec": map[string]any{
			"syncPolicy": syncPolicy, "template": map[string]any{"metadata": map[string]any{"finalizers": finalizers}},
		}}}}
	}
	preserves := map[string]any{"preserveResourcesOnDeletion": true}
	cascades, orphans := settings{deletionGiven: true}, settings{deletionGiven: true, orphan: true}
	for name, c := range map[string]struct {
		s      settings
		record *argocd.Record
		want   argocd.Cascade
		warns  bool
	}{
		"no record":                                     {settings{}, nil, argocd.CascadeOrphan, true},
		"no record, and cascade is given":               {cascades, nil, argocd.CascadeDelete, false},
		"a record of a create that has not begun":       {settings{}, &argocd.Record{}, argocd.CascadeOrphan, true},
		"a set that preserves":                          {settings{}, recorded(preserves), argocd.CascadeOrphan, false},
		"a set that preserves, and cascade is given":    {cascades, recorded(preserves), argocd.CascadeDelete, false},
		"a set that preserves, by a version after this": {settings{}, recorded(map[string]any{"preserveResourcesOnDeletion": "always"}), argocd.CascadeOrphan, false},
		"a policy of a version after this":              {settings{}, recorded("preserve"), argocd.CascadeOrphan, false},
		"a set that preserves, with a finalizer":        {settings{}, recorded(preserves, appset.ResourcesFinalizer), argocd.CascadeDelete, false},
		"a set that preserves, with another finalizer":  {settings{}, recorded(preserves, "example.com/wait"), argocd.CascadeOrphan, false},
		"a set that does not preserve":                  {settings{}, recorded(map[string]any{"preserveResourcesOnDeletion": false}), argocd.CascadeDelete, false},
		"a set without a policy":                        {settings{}, recorded(nil), argocd.CascadeDelete, false},
		"a set without a policy, and orphan is given":   {orphans, recorded(nil), argocd.CascadeOrphan, false},
	} {
		a := (&connected{record: c.record, live: []rollout.Live{{Name: "dev-1"}}}).destruction(c.s, content{}, 0)
		if got := a.cascade(); got != c.want {
			t.Errorf("%s: it deletes with %v, not %v", name, got, c.want)
		}
		if diags := a.warnOfUnreadable(); len(diags) > 0 != c.warns || diags.HasError() {
			t.Errorf("%s: it says %v", name, diags)
		}
		readable := content{set: &appset.Set{}}
		if a := (&connected{record: c.record, live: a.live}).destruction(c.s, readable, 0); a.settings.orphan != c.s.orphan || len(a.warnOfUnreadable()) > 0 {
			t.Errorf("%s: the record counts more than the configuration", name)
		}
	}
}

func TestThePlanOfADeletionSaysThatResourcesStayWhereTheyDo(t *testing.T) {
	const stays = "What they have deployed stays"
	edited := func(policy, metadata string) func(...string) string {
		return func(names ...string) string {
			manifest := strings.Replace(manifestOf("main", names...), `"strategy":`, `"syncPolicy":{`+policy+`},"strategy":`, 1)
			return strings.Replace(manifest, `"labels":{`, metadata+`"labels":{`, 1)
		}
	}
	const preserves, finalizer = `"preserveResourcesOnDeletion":true`, `"finalizers":["resources-finalizer.argocd.argoproj.io"],`
	for name, c := range map[string]struct {
		manifest func(...string) string
		deletion any
		says     string
	}{
		"preserved": {edited(preserves, ""), nil, "preserve_resources_on_deletion is true. rollout.deletion = \"cascade\""},
		"preserved, AllAtOnce": {func(names ...string) string {
			return strings.Replace(edited(preserves, "")(names...), `"Reverse"`, `"AllAtOnce"`, 1)
		}, nil, "preserve_resources_on_deletion is true"},
		"preserved, and orphan is given":     {edited(preserves, ""), "orphan", "rollout.deletion is \"orphan\""},
		"orphan is given":                    {edited("", ""), "orphan", "rollout.deletion is \"orphan\""},
		"preserved, but cascade is given":    {edited(preserves, ""), "cascade", ""},
		"preserved, but the finalizer is":    {edited(preserves, finalizer), nil, ""},
		"nothing is said, and it is deleted": {edited("", ""), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rollout := settingsWith(map[string]any{"deletion": c.deletion})
			manifest := c.manifest(fleet...)
			state := stateOf(t, manifest, shaA).with(values{"rollout": rollout})
			for what, config := range map[string]values{"destroy": nil, "removal": configOf(c.manifest(fleet[1:]...)).with(values{"rollout": rollout})} {
				p := planOf(t, state, config, private(t, knownAt(t, manifest, shaA, fleet...)))
				all := strings.Join(p.warns, "\n")
				if len(p.errors) > 0 || !strings.Contains(all, "Applications will be deleted") {
					t.Fatalf("%s: the plan says %q %q", what, p.errors, all)
				}
				if strings.Contains(all, stays) != (c.says != "") || !strings.Contains(all, c.says) {
					t.Errorf("%s: the plan says %q, not %q", what, all, c.says)
				}
				if strings.Contains(all, "applied before the destroy") && what != "destroy" {
					t.Errorf("%s: the plan says %q", what, all)
				}
			}
		})
	}
}

func TestTheWaysOutOfAnUnknownClusterNameTheHoldWithoutWhichTheApplyIsRefused(t *testing.T) {
	unknown := map[string]string{"far-1": "Argo CD knows no cluster far"}
	for instead, says := range map[string][]string{
		insteadOfDestroy: {`rollout.deletion = "orphan", applied before the destroy`, "Name these Applications in rollout.hold in that apply"},
		insteadOfRemoval: {"name them in rollout.hold", `rollout.deletion = "orphan", which leaves those of every Application that this apply deletes`},
	} {
		text := unknownDestinations(unknown, instead)
		for _, want := range append(says, "  far-1: Argo CD knows no cluster far\n") {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in:\n%s", want, text)
			}
		}
	}
}

// The apply that had handed over was killed: the plan of the create that comes now has shown no deletion.
func TestACreateDeletesOnlyWhatThePlanOfItsOwnReplacementHasShown(t *testing.T) {
	for _, handed := range []bool{true, false} {
		t.Run(fmt.Sprintf("handed over by this apply: %v", handed), func(t *testing.T) {
			a := applyAmong(t, nil, "dev-1")
			a.lives("dev-1", "dev-2")
			a.record = &argocd.Record{State: argocd.StateReleased}
			if handed {
				a.resource.provider.generation.sets.handOver("argocd/guestbook", nil)
			}
			diags := a.prepareCreate()
			if diags.HasError() {
				t.Fatal(diags)
			}
			if handed {
				if got := fmt.Sprint(a.plan.Removals); got != "[[dev-2]]" || len(diags) > 0 {
					t.Errorf("deletes %s, and says %v", got, diags)
				}
			} else if len(a.plan.Removals) > 0 || len(diags) != 1 || diags[0].Summary() != "Applications left over" || !strings.Contains(diags[0].Detail(), "dev-2") {
				t.Errorf("deletes %v, and says %v", a.plan.Removals, diags)
			}
		})
	}
}

func TestThePlanOfARemovalWarnsOfAClusterThatIsGone(t *testing.T) {
	at := func(name, server string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"destination": map[string]any{"name": name, "server": server}}}}
	}
	orphans := defaultSettings()
	orphans.orphan = true
	for name, c := range map[string]struct {
		settings settings
		gone     []string
		says     string
	}{
		"its cluster is gone":               {defaultSettings(), []string{"far-1", "near-1"}, `  far-1: Argo CD knows no cluster far`},
		"its cluster is there":              {defaultSettings(), []string{"near-1"}, ""},
		"its resources are to stay":         {orphans, []string{"far-1"}, ""},
		"nothing goes":                      {defaultSettings(), nil, ""},
		"it was not found by this very run": {defaultSettings(), []string{"other-1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := resourceAmong(t, nil)
			r.provider.generation.sets.keepFound("argocd/guestbook", foundSet{waves: newWaves(), destinations: destinationsOf(map[string]*unstructured.Unstructured{
				"far-1": at("far", ""), "near-1": at("", "https://kubernetes.default.svc"),
			})})
			m := modelOf(manifestOf("main", "dev-1"))
			m.ID = types.StringValue("argocd/guestbook")
			diags := r.warnOfDestinations(t.Context(), m, c.gone, c.settings, cluster{})
			switch {
			case c.says == "" && len(diags) > 0:
				t.Errorf("the plan says %v", diags)
			case c.says != "" && (len(diags) != 1 || diags.HasError() || !strings.Contains(diags[0].Detail(), c.says) || strings.Contains(diags[0].Detail(), "near-1") ||
				!strings.Contains(diags[0].Detail(), "rollout.hold")):
				t.Errorf("the plan says %v", diags)
			}
		})
	}
}
