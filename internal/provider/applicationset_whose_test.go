package provider

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// recordIn is a record of the token in a state.
func recordIn(state argocd.State, token string) *argocd.Record {
	r := &argocd.Record{Token: token, State: state}
	if state == argocd.StateTakingOver {
		r.TakeOver = &argocd.TakeOver{UID: "uid"}
	}
	return r
}

func TestTheFateOfASetFollowsFromWhatIsPlannedAndFromItsRecord(t *testing.T) {
	state := &applicationSetModel{ID: types.StringValue("argocd/guestbook"), Namespace: types.StringValue("argocd"), Name: types.StringValue("guestbook")}
	// Half of replacing a tainted set by itself, and everything that really deletes.
	resumes := []phase{{Op: opCreate, Namespace: "argocd", Name: "guestbook"}}
	deletes := []phase{
		{Op: opDestroy}, {Op: opForcedReplace, Namespace: "argocd", Name: "guestbook"}, {Op: opUpdate, Namespace: "argocd", Name: "guestbook"},
		{Op: opCreate, Namespace: "argocd", Name: "renamed"}, {},
	}
	const ours, theirs = "token-1", "token-2"
	refused := errors.New("403")
	for name, c := range map[string]struct {
		record *argocd.Record
		// ours is the token in the state.
		ours       string
		live       int
		unverified error
		unread     bool
		// begun tells that this run has given the record its token.
		begun   bool
		resumed fate
		deleted fate
	}{
		"no record":                                       {nil, ours, 0, nil, false, false, fateHandedOver, fateDeleted},
		"no record, but Applications":                     {nil, ours, 1, nil, false, false, fateHandedOver, fateDeleted},
		"a create that has not ended":                     {recordIn(argocd.StateCreating, ours), ours, 1, nil, false, false, fateHandedOver, fateDeleted},
		"handed over, and killed then":                    {recordIn(argocd.StateReleased, ours), ours, 1, nil, false, false, fateHandedOver, fateDeleted},
		"at rest":                                         {recordIn(argocd.StateComplete, ours), ours, 1, nil, false, false, fateHandedOver, fateDeleted},
		"being taken over":                                {recordIn(argocd.StateTakingOver, ours), ours, 1, nil, false, false, fateTakenOver, fateTakenOver},
		"a later create that has not ended":               {recordIn(argocd.StateCreating, theirs), ours, 1, nil, false, false, fateHandedOver, fateBegunAnew},
		"a later create that was handed over":             {recordIn(argocd.StateReleased, theirs), ours, 1, nil, false, false, fateHandedOver, fateBegunAnew},
		"a later create that has ended well":              {recordIn(argocd.StateComplete, theirs), ours, 1, nil, false, false, fateForgotten, fateForgotten},
		"a later one that is being taken over":            {recordIn(argocd.StateTakingOver, theirs), ours, 1, nil, false, false, fateTakenOver, fateTakenOver},
		"a state that knows no token":                     {recordIn(argocd.StateComplete, theirs), "", 1, nil, false, false, fateHandedOver, fateDeleted},
		"unverified, and the record is ours":              {recordIn(argocd.StateComplete, ours), ours, 1, refused, false, false, fateHandedOver, fateDeleted},
		"unverified, and there are only Applications":     {nil, ours, 1, refused, false, false, fateHandedOver, fateDeleted},
		"unverified, and nothing is found":                {nil, ours, 0, refused, false, false, fateElsewhere, fateElsewhere},
		"unverified, and the record is of another create": {recordIn(argocd.StateComplete, theirs), ours, 1, refused, false, false, fateElsewhere, fateElsewhere},
		"unverified, and the other create is of this run": {recordIn(argocd.StateComplete, theirs), ours, 1, refused, false, true, fateForgotten, fateForgotten},
		"unverified, and that create has not ended":       {recordIn(argocd.StateCreating, theirs), ours, 1, refused, false, false, fateElsewhere, fateElsewhere},
		"the Applications could not be listed":            {recordIn(argocd.StateComplete, theirs), ours, 0, nil, true, false, fateDeleted, fateDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			on := applyAmong(t, nil, "dev-1").connected
			on.record, on.loaded, on.unverified, on.live = c.record, !c.unread, c.unverified, make([]rollout.Live, c.live)
			if c.begun {
				on.resource.provider.generation.sets.begin("argocd/guestbook", theirs)
			}
			check := func(want fate, phases []phase) {
				for _, p := range phases {
					handOver, diags := p.handsOver(state)
					if diags.HasError() {
						t.Fatal(diags)
					}
					if got := on.fate(deletion{planned: p, ours: []string{c.ours}, handOver: handOver}); got != want {
						t.Errorf("planned %+v: the set is %s, not %s", p, got, want)
					}
				}
			}
			check(c.resumed, resumes)
			check(c.deleted, deletes)
		})
	}
}

func TestARefusedDeletionSaysHowToGoOn(t *testing.T) {
	on := &connected{owner: argocd.Owner{Namespace: "argocd", Name: "guestbook"}, argoNamespace: "argocd", uid: "ours", unverified: errors.New("403")}
	for of, want := range map[fate][]string{
		fateBegunAnew: {"Creation not finished", "terraform taint ADDRESS, then terraform apply", "terraform state rm ADDRESS, then terraform import ADDRESS argocd/guestbook, then terraform destroy"},
		fateTakenOver: {"Take-over not finished", "terraform import ADDRESS argocd/guestbook", "before the import: terraform state rm ADDRESS"},
		fateElsewhere: {"Cluster not verified", `namespace "argocd" has the UID ours`, "config_context", "terraform state rm ADDRESS"},
	} {
		diags := on.refuses(of)
		if len(diags) != 1 || !diags.HasError() || diags[0].Summary() != want[0] {
			t.Fatalf("%s: %v", of, diags)
		}
		for _, text := range append(want[1:], "Nothing was changed") {
			if !strings.Contains(diags[0].Detail(), text) {
				t.Errorf("%s: no %q in:\n%s", of, text, diags[0].Detail())
			}
		}
	}
	for _, of := range []fate{fateDeleted, fateHandedOver, fateForgotten} {
		if diags := on.refuses(of); len(diags) > 0 {
			t.Errorf("%s: %v", of, diags)
		}
	}
}

func TestAnUpdateIsOfTheSetThatTheStateKnows(t *testing.T) {
	const ours, theirs = "token-1", "token-2"
	for name, c := range map[string]struct {
		record     *argocd.Record
		ours       string
		adopts     bool
		unverified error
		title      string
	}{
		"ours":                                     {record: recordIn(argocd.StateComplete, ours), ours: ours},
		"ours, from a create that has failed":      {record: recordIn(argocd.StateCreating, ours), ours: ours},
		"no record":                                {ours: ours},
		"a state that knows no token":              {record: recordIn(argocd.StateComplete, theirs)},
		"of another create":                        {record: recordIn(argocd.StateComplete, theirs), ours: ours, title: "Set taken over"},
		"of another create, to be taken back":      {record: recordIn(argocd.StateComplete, theirs), ours: ours, adopts: true},
		"of another create that has not ended":     {record: recordIn(argocd.StateCreating, theirs), ours: ours, title: "Creation not finished"},
		"of another create that was handed over":   {record: recordIn(argocd.StateReleased, theirs), ours: ours, title: "Creation not finished"},
		"of a create that has not ended, to adopt": {record: recordIn(argocd.StateCreating, theirs), ours: ours, adopts: true},
		"of another create, perhaps elsewhere":     {record: recordIn(argocd.StateComplete, theirs), ours: ours, adopts: true, unverified: errors.New("403"), title: "Cluster not verified"},
		"ours, though the cluster is not verified": {record: recordIn(argocd.StateComplete, ours), ours: ours, unverified: errors.New("403")},
	} {
		t.Run(name, func(t *testing.T) {
			a := applyAmong(t, nil, "dev-1")
			a.record, a.loaded, a.unverified, a.settings.adoptExisting = c.record, true, c.unverified, c.adopts
			a.lives("dev-1")
			diags := a.prepareUpdate(owner{Token: c.ours}, newWaves())
			title := ""
			if len(diags) > 0 {
				title = diags[0].Summary()
			}
			if title != c.title || len(diags) > 1 {
				t.Fatalf("the update says %v", diags)
			}
			if c.title == "" && c.ours != "" && a.record.Token != ours {
				t.Errorf("the set has the token %q after it", a.record.Token)
			}
		})
	}
}

// A process that is killed in the create leaves the state as it was before, or empty: what was handed over must be
// known by the token in that state.
func TestACreateKeepsTheTokenOfWhatWasHandedOverToIt(t *testing.T) {
	for name, c := range map[string]struct {
		record *argocd.Record
		// handed tells that it was handed over by this run, and token by what the state knew it then.
		handed bool
		token  string
		keeps  bool
	}{
		"handed over by this run":                       {recordIn(argocd.StateReleased, "token-1"), true, "token-1", true},
		"handed over, and the state knew no token":      {recordIn(argocd.StateReleased, "token-1"), true, "", false},
		"handed over, and taken since":                  {recordIn(argocd.StateCreating, "token-2"), true, "token-1", false},
		"handed over, taken, and handed over once more": {recordIn(argocd.StateReleased, "token-2"), true, "token-1", false},
		"handed over by a run that was killed":          {recordIn(argocd.StateReleased, "token-1"), false, "", false},
		"a create that has failed is replaced":          {recordIn(argocd.StateCreating, "token-1"), false, "", false},
		"there was no record to hand over":              {&argocd.Record{}, true, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			a := applyAmong(t, nil, "dev-1")
			a.record = c.record
			before := c.record.Token
			if c.handed {
				a.resource.provider.generation.sets.handOver("argocd/guestbook", nil)
				a.resource.provider.generation.sets.keepFormer("argocd/guestbook", storedObject{Token: c.token})
			}
			if diags := a.prepareCreate(); diags.HasError() {
				t.Fatal(diags)
			}
			began := a.record.Token
			if a.begins(); a.record.Token != began {
				t.Errorf("the token %q became %q when the create was refused after it had begun", began, a.record.Token)
			}
			if (a.record.Token == before) != c.keeps || a.record.Token == "" || a.record.State != argocd.StateCreating {
				t.Errorf("the token %q became %q, in the state %q", before, a.record.Token, a.record.State)
			}
		})
	}
}

// A deposed object knows the set by a token that no create may keep.
func TestADeletionKnowsTheSetByWhatTheStateHasOfIt(t *testing.T) {
	home, blind := cluster{UID: "ours", Namespace: "argocd"}, cluster{Namespace: "argocd"}
	for name, c := range map[string]struct {
		stored []storedObject
		tokens string
		home   cluster
	}{
		"nothing":                      {nil, "[]", cluster{}},
		"one object":                   {[]storedObject{{"token-1", home}, {}}, "[token-1]", home},
		"an object, and a deposed one": {[]storedObject{{"token-1", blind}, {"token-2", home}, {"token-2", blind}, {}}, "[token-1 token-2]", home},
		"an object without a token":    {[]storedObject{{"", blind}}, "[]", blind},
	} {
		var d deletion
		if d.knows(c.stored); fmt.Sprint(d.ours) != c.tokens || d.home != c.home {
			t.Errorf("%s: it knows %v, and the home %+v", name, d.ours, d.home)
		}
	}
}

func TestTheUIDOfTheClusterOutlastsCredentialsThatMayNotReadIt(t *testing.T) {
	home := cluster{UID: "ours", Namespace: "argocd"}
	api := newAPI(t)
	api.refuse("/api/v1/namespaces/argocd")
	for name, c := range map[string]struct {
		want   cluster
		former storedObject
		uid    string
	}{
		"an update":                          {want: home, uid: "ours"},
		"an update of a set of unknown home": {uid: ""},
		"a create of what was handed over":   {former: storedObject{Home: home}, uid: "ours"},
		"the same, of another Argo CD":       {former: storedObject{Home: cluster{UID: "ours", Namespace: "other"}}, uid: ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := api.resource()
			r.provider.generation.sets.keepFormer("argocd/guestbook", c.former)
			on, diags := r.connect(t.Context(), modelOf(manifestOf("main")), c.want)
			if diags.HasError() {
				t.Fatal(diags)
			}
			on.inherit()
			on.record = &argocd.Record{}
			stored := keptPrivate{}
			if diags := on.writePrivate(t.Context(), stored, nil); diags.HasError() {
				t.Fatal(diags)
			}
			if got, want := stored[keyCluster], fmt.Sprintf(`{"uid":%q,"namespace":"argocd"}`, c.uid); got != want {
				t.Errorf("stored is %s, not %s", got, want)
			}
		})
	}
}
