package provider

import (
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

func TestADestroyLeavesASetThatItsObjectDoesNotKnow(t *testing.T) {
	state := stateOf(t, manifestOf("main", fleet...), shaA)
	for name, c := range map[string]struct {
		record *argocd.Record
		title  string
		kept   bool
		left   string
	}{
		"of its own":                      {recordIn(argocd.StateCreating, "token-1"), "[]", false, "no record"},
		"after a later create was killed": {recordIn(argocd.StateCreating, "token-2"), "Creation not finished", true, "creating of token-2"},
		"after a later create has ended":  {recordIn(argocd.StateComplete, "token-2"), "Nothing deleted", false, "complete of token-2"},
		"in the middle of a take-over":    {recordIn(argocd.StateTakingOver, "token-1"), "Take-over not finished", true, "taking over of token-1"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			a.has(c.record)
			r := a.deletes(state, phase{Op: opDestroy}, map[string]any{keyOwner: owner{Token: "token-1"}})
			if got := r.title(); got != c.title || r.kept != c.kept {
				t.Errorf("it says %q, and the state has it: %v", got, r.kept)
			}
			if got := a.says(); got != c.left {
				t.Errorf("the record is %s, not %s", got, c.left)
			}
		})
	}
}

// The deletion of a tainted object has no private state: what it knows has come by Read and the plan, in another process.
func TestAReplacementHandsOverOnlyASetThatTheStateKnows(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	state := stateOf(t, manifest, shaA)
	for name, c := range map[string]struct {
		record *argocd.Record
		// unread tells that the plan is made without a refresh.
		unread bool
		// renamed is the name of the set that replaces it.
		renamed string
		title   string
		kept    bool
		left    string
	}{
		"of its own":                                       {record: recordIn(argocd.StateCreating, "token-1"), title: "[]", left: "released of token-1"},
		"after a later create was killed":                  {record: recordIn(argocd.StateCreating, "token-2"), title: "[]", left: "released of token-2"},
		"after a later create has ended":                   {record: recordIn(argocd.StateComplete, "token-2"), title: "Nothing deleted", left: "complete of token-2"},
		"in the middle of a take-over":                     {record: recordIn(argocd.StateTakingOver, "token-1"), title: "Take-over not finished", kept: true, left: "taking over of token-1"},
		"without a refresh":                                {record: recordIn(argocd.StateComplete, "token-2"), unread: true, title: "[]", left: "released of token-2"},
		"of its own, by another name":                      {record: recordIn(argocd.StateCreating, "token-1"), renamed: "other", title: "[]", left: "no record"},
		"after a later create has ended, by another name":  {record: recordIn(argocd.StateComplete, "token-2"), renamed: "other", title: "Nothing deleted", left: "complete of token-2"},
		"after a later create was killed, by another name": {record: recordIn(argocd.StateCreating, "token-2"), renamed: "other", title: "Creation not finished", kept: true, left: "creating of token-2"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			a.has(c.record)
			planning, config := a.server(), configOf(manifest)
			if !c.unread {
				a.read(planning, state, map[string]any{keyCluster: cluster{UID: "ours", Namespace: "argocd"}, keyOwner: owner{Token: "token-1"}})
			}
			if c.renamed != "" {
				config["name"] = c.renamed
			}
			r := a.deletes(state, a.replaces(planning, config), nil)
			if got := r.title(); got != c.title || r.kept != c.kept {
				t.Errorf("it says %q, and the state has it: %v", got, r.kept)
			}
			if got := a.says(); got != c.left {
				t.Errorf("the record is %s, not %s", got, c.left)
			}
		})
	}
	t.Run("in another cluster", func(t *testing.T) {
		a := newAPI(t)
		a.has(recordIn(argocd.StateCreating, "token-1"))
		r := a.deletes(state, phase{Op: opCreate, Namespace: "argocd", Name: "guestbook", Stored: map[string][]storedObject{
			"argocd/guestbook": {{Token: "token-1", Home: cluster{UID: "theirs", Namespace: "argocd"}}},
		}}, nil)
		if got := r.title(); got != "Wrong cluster" || !r.kept || a.says() != "creating of token-1" {
			t.Errorf("it says %q, and the record is %s", got, a.says())
		}
	})
}

// The deletion of a deposed object would take a set that kept its token.
func TestOnlyTheTokenOfASingleObjectIsHandedOver(t *testing.T) {
	for name, c := range map[string]struct {
		ours   []string
		handed string
	}{
		"one object":                        {[]string{"token-1"}, "token-1"},
		"beside a deposed one":              {[]string{"token-1", "token-2"}, ""},
		"one of before the last create":     {[]string{"token-2"}, ""},
		"none whose private state is known": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			a.has(recordIn(argocd.StateCreating, "token-1"))
			on, diags := a.resource().connect(t.Context(), modelOf(manifestOf("main")), cluster{})
			if diags.Append(on.load(t.Context())...); diags.HasError() {
				t.Fatal(diags)
			}
			if diags := on.handOver(t.Context(), deletion{ours: c.ours}); diags.HasError() {
				t.Fatal(diags)
			}
			if got := on.resource.provider.generation.sets.formerOf("argocd/guestbook").Token; got != c.handed || a.says() != "released of token-1" {
				t.Errorf("the token %q is handed over, not %q; the record is %s", got, c.handed, a.says())
			}
		})
	}
}

func TestARefreshLearnsTheClusterOfASetByItsToken(t *testing.T) {
	state := stateOf(t, manifestOf("main", fleet...), shaA)
	for name, c := range map[string]struct {
		uid, token, want string
	}{
		"it was not known": {"", "token-1", `{"uid":"ours","namespace":"argocd"}`},
		"it was known":     {"ours", "token-1", `{"uid":"ours","namespace":"argocd"}`},
		"it was not known, and the set is another": {"", "token-2", `{"uid":"","namespace":"argocd"}`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			a.has(recordIn(argocd.StateComplete, c.token))
			r := a.read(a.server(), state, map[string]any{keyCluster: cluster{UID: c.uid, Namespace: "argocd"}, keyOwner: owner{Token: "token-1"}})
			if got := string(r.private[keyCluster]); got != c.want || len(r.errors) > 0 {
				t.Errorf("it stores %s, and says %q", got, r.errors)
			}
		})
	}
}

// What is imported then goes on with the take-over, and what is in the state cannot be imported.
func TestAnApplyThatMeetsATakeOverLeavesItsRecord(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	state := stateOf(t, manifest, shaA)
	states := map[string]argocd.State{
		"a take-over that was killed": argocd.StateTakingOver, "one after which a create was refused by a version before this": argocd.StateCreating,
	}
	applies := map[string]func(*api) ran{
		"a create": func(a *api) ran { return a.apply(nil, configOf(manifest), nil) },
		"an update": func(a *api) ran {
			return a.apply(state, configOf(manifestOf("main", fleet[:4]...)), map[string]any{keyOwner: owner{Token: "token-1"}, keyTargets: knownAt(t, manifest, shaA, fleet...)})
		},
	}
	for what, apply := range applies {
		for name, in := range states {
			t.Run(what+" meets "+name, func(t *testing.T) {
				a := newAPI(t)
				a.has(&argocd.Record{Token: "token-1", State: in, Payload: argocd.Payload{TakeOver: &argocd.TakeOver{UID: "uid"}}})
				before := a.says()
				r := apply(a)
				if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], "Take-over not finished: ") || !strings.Contains(r.errors[0], "terraform import ADDRESS argocd/guestbook") {
					t.Errorf("it says %q", r.errors)
				}
				if after := a.says(); r.kept != (what == "an update") || after != before {
					t.Errorf("the state has the set: %v; the record was %s, and is %s", r.kept, before, after)
				}
			})
		}
	}
}

// The set is created on a cluster with a namespace of this UID, by credentials that could read it.
func TestASetIsNotGoneWhereTheClusterCannotBeVerified(t *testing.T) {
	manifest := manifestOf("main", fleet...)
	state, changed := stateOf(t, manifest, shaA), configOf(manifestOf("main", fleet[:4]...))
	operations := map[string]func(*api, map[string]any) ran{
		"a refresh": func(a *api, private map[string]any) ran { return a.read(a.server(), state, private) },
		"a destroy": func(a *api, private map[string]any) ran { return a.deletes(state, phase{Op: opDestroy}, private) },
	}
	for what, operation := range operations {
		for name, c := range map[string]struct {
			uid     string
			refused bool
			gone    bool
		}{
			"the UID may be read":            {uid: "ours", gone: true},
			"the UID may not be read":        {uid: "ours", refused: true},
			"the UID was never known":        {uid: "", refused: true, gone: true},
			"the UID is that of another one": {uid: "theirs"},
		} {
			t.Run(what+", and "+name, func(t *testing.T) {
				a := newAPI(t)
				if c.refused {
					a.refuse("/api/v1/namespaces/argocd")
				}
				r := operation(a, map[string]any{keyCluster: cluster{UID: c.uid, Namespace: "argocd"}, keyOwner: owner{Token: "token-1"}})
				if r.kept == c.gone || len(r.errors) > 0 == c.gone {
					t.Fatalf("it says %q, and the state has it: %v", r.errors, r.kept)
				}
				if c.refused && !c.gone && (!strings.HasPrefix(r.errors[0], "Cluster not verified: ") || !strings.Contains(r.errors[0], `resources: ["namespaces"]`)) {
					t.Errorf("it says %q", r.errors)
				}
			})
		}
	}
	t.Run("an update rolls nothing out there", func(t *testing.T) {
		a := newAPI(t)
		a.refuse("/api/v1/namespaces/argocd")
		r := a.apply(state, changed, map[string]any{keyCluster: cluster{UID: "ours", Namespace: "argocd"}, keyOwner: owner{Token: "token-1"}, keyTargets: knownAt(t, manifest, shaA, fleet...)})
		if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], "Cluster not verified: ") || a.says() != "no record" {
			t.Errorf("it says %q, and there is %s", r.errors, a.says())
		}
	})
}
