package acceptance

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ungranted removes these verbs, as "get secrets", from every Role.
func ungranted(verbs ...string) func(*unstructured.Unstructured) {
	return func(role *unstructured.Unstructured) {
		eachGrant(role, func(g grant) bool { return !slices.Contains(verbs, g.String()) })
	}
}

// traces are what the provider writes of the fixture's set: Applications, record and Lease.
func (f *fixture) traces() map[string]string {
	f.Helper()
	found := map[string]string{}
	for _, app := range f.liveApps(f.ctx()) {
		found[app.GetName()] = written(&app)
	}
	if record := f.recordOf(f.name); record != nil {
		found["record"] = record.GetResourceVersion()
	}
	listed, err := f.client.Resource(leases).Namespace(argoNamespace).List(f.ctx(), metav1.ListOptions{LabelSelector: "argocdprogressive.io/set"})
	if err != nil {
		f.Fatal(err)
	}
	for _, lease := range listed.Items {
		if lease.GetAnnotations()["argocdprogressive.io/owner"] == argoNamespace+"/"+f.name {
			found["Lease"] = "there" // it changes when it is taken and let go again
		}
	}
	return found
}

// sameTraces fails if something of the set was written since.
func (f *fixture) sameTraces(before map[string]string) {
	f.Helper()
	if now := f.traces(); !maps.Equal(now, before) {
		f.Errorf("the traces were %v, and are %v", before, now)
	}
}

func TestAccAnAccountThatMayOnlyPlanCannotApply(t *testing.T) {
	f := newFixture(t)
	w, s := f.workspace(), f.threeSteps()
	planner := f.as(f.accountOf("plan.yaml", "argocdprogressive-plan", "plan", nil))
	f.release("1", "dev", "staging", "prod")
	s.Provider = planner
	w.configure(s)
	w.acts(w.planOf(), "create")
	w.failsToApply("Permission missing", "takes to apply argocd/"+f.name, "Nothing was changed",
		`- apiGroups: ["argoproj.io"]`, `verbs: ["watch", "create", "update", "patch"]`,
		`verbs: ["create", "update"]`, `resources: ["leases"]`,
		fmt.Sprintf(`in namespace "%s"`, argoNamespace), "kubectl -n argocd auth can-i patch applications.argoproj.io", "examples/rbac")
	f.sameTraces(nil)

	s.Provider = nil
	w.configure(s)
	w.apply()
	before := f.traces()

	// It reads what became of the rollouts; one that may not read the lock goes by the record.
	reader := f.reader(planner)
	reader.saysNot(reader.apply(), "Warning")
	lockless := f.reader(f.as(f.accountOf("plan.yaml", "argocdprogressive-plan", "nolock", ungranted("get leases.coordination.k8s.io"))))
	lockless.says(lockless.apply(), "Lock not readable", "told by its record alone", `resources: ["leases"]`, `verbs: ["get"]`)
	for _, r := range []*workspace{reader, lockless} {
		if got := r.reads(); got.State != "complete" || len(got.Applications) != 3 || len(got.History) != 1 {
			t.Errorf("an account that may only plan reads %+v", got)
		}
	}

	s.Provider = maps.Clone(planner)
	s.Provider["refresh"] = false
	w.configure(s)
	w.saysNot(w.cli.want(exitEmpty, "plan", "-detailed-exitcode"), "Warning")
	s.Labels = obj{"tier": "gold"}
	w.configure(s)
	w.changes(w.planOf(), f.apps("dev", "staging", "prod")...)
	w.failsToApply("Permission missing", "Nothing was changed", `verbs: ["watch", "create", "update", "patch"]`)
	w.fails([]string{"destroy", "-auto-approve"}, "Permission missing", "takes to destroy argocd/"+f.name,
		`verbs: ["watch", "update", "patch", "delete"]`, `verbs: ["list", "delete"]`)

	// Without refresh = false it plans as well, and says what it has not done.
	delete(s.Provider, "refresh")
	w.configure(s)
	w.says(w.planOf().printed, "New commits not looked for", "refresh = false", `verbs: ["patch"]`)
	f.sameTraces(before)

	s.Provider = nil
	w.configure(s)
}

func TestAccAMissingVerbIsToldBeforeTheFirstWrite(t *testing.T) {
	f := newFixture(t)
	w, s := f.workspace(), f.threeSteps()
	f.release("1", "dev", "staging", "prod")
	apply := func(suffix string, verbs ...string) obj {
		return f.as(f.accountOf("apply.yaml", applyAccount, suffix, ungranted(verbs...)))
	}
	s.Provider = apply("nopatch", "patch applications.argoproj.io")
	w.configure(s)
	r := w.failsToApply("Permission missing", "Nothing was changed", `verbs: ["patch"]`, "kubectl -n argocd auth can-i patch applications.argoproj.io")
	w.saysNot(r, `"create"`, `resources: ["configmaps"]`, `resources: ["leases"]`)
	f.sameTraces(nil)

	// What is optional is not checked, with a warning. Nothing is deleted, so that verb is not missed.
	s.Provider = apply("nodelete", "delete applications.argoproj.io", "list secrets", "get namespaces/argocd", "get appprojects.argoproj.io")
	w.configure(s)
	w.says(w.apply(), "Application not checked", "cannot be checked", "forbidden")
	f.must(f.deploys("1", "dev", "staging", "prod"))
	w.atRest()

	before := f.traces()
	all := s.Elements
	s.Elements = all[:2]
	w.configure(s)
	w.failsToApply("Permission missing", "Nothing was changed", `verbs: ["delete"]`)
	w.fails([]string{"destroy", "-auto-approve"}, "Permission missing", `verbs: ["delete"]`)
	f.sameTraces(before)

	s.Elements = all
	s.Provider = apply("nosecrets", "list secrets")
	w.configure(s)
	w.says(w.destroy(), "Destination clusters not checked")
	w.lives()
}

// auditor stands in front of the proxy and notes what each request takes.
type auditor struct {
	server *httptest.Server

	mu     sync.Mutex
	grants map[string]bool
}

func (f *fixture) auditor() *auditor {
	f.Helper()
	a, p := &auditor{grants: map[string]bool{}}, f.proxy()
	a.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g := grantOf(r)
		a.mu.Lock()
		a.grants[g.String()] = true
		a.mu.Unlock()
		p.ServeHTTP(w, r)
	}))
	f.Cleanup(a.server.Close)
	return a
}

func (a *auditor) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.grants))
}

// grantOf is the verb of RBAC that a request takes, as the API server finds it. Names are left out
// where a Role cannot know them.
func grantOf(r *http.Request) grant {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var g grant
	if parts[0] == "apis" {
		g.group, parts = parts[1], parts[3:]
	} else {
		parts = parts[2:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	g.resource = parts[0]
	named := len(parts) > 1
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Has("watch"):
		g.verb = "watch"
	case r.Method == http.MethodGet && !named:
		g.verb = "list"
	default:
		g.verb = map[string]string{
			http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
		}[r.Method]
	}
	if named && (g.resource == "namespaces" || parts[1] == "argocd-cm") {
		g.name = parts[1]
	}
	return g
}

func TestAccTheExamplesGrantNoVerbThatIsNotUsed(t *testing.T) {
	f := newFixture(t)
	w, s, audit := f.workspace(), f.threeSteps(), f.auditor()
	granted := func(file, name string, more ...string) []string {
		for _, o := range readRBAC(file, name) {
			if o.GetKind() == "Role" {
				eachGrant(o, func(g grant) bool {
					if g.resource != "deployments" { // the other kind of application controller: that of the tests is a StatefulSet
						more = append(more, g.String())
					}
					return true
				})
			}
		}
		slices.Sort(more)
		return more
	}
	use := func(what string, want []string) {
		if got := audit.seen(); !slices.Equal(got, want) {
			t.Errorf("%s used\n%s\ngranted is\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		audit.mu.Lock()
		defer audit.mu.Unlock()
		clear(audit.grants)
	}
	f.release("1", "dev", "staging", "prod")
	f.foreign("dev", nil) // to be taken over
	s.Rollout = quick(obj{"adopt_existing": true})
	s.Provider = obj{"kubernetes": obj{"host": audit.server.URL}}
	w.configure(s)
	w.apply()
	f.release("2", "dev", "staging", "prod")
	s.Elements = s.Elements[:2]
	w.configure(s)
	w.apply()

	var applied []string
	audit.mu.Lock()
	applied = slices.Sorted(maps.Keys(audit.grants))
	audit.mu.Unlock()
	s.Provider["refresh"] = false
	w.configure(s)
	audit.mu.Lock()
	clear(audit.grants)
	audit.mu.Unlock()
	w.atRest()
	s.Elements = append(s.Elements[:2:2], f.element("prod")) // whether its name is free is looked up
	w.configure(s)
	w.planOf()
	f.reader(s.Provider).reads()
	use("a plan with refresh = false, and data.argocdprogressive_rollout,", granted("plan.yaml", "argocdprogressive-plan"))
	s.Elements = s.Elements[:2]
	w.configure(s)

	w.destroy()
	audit.mu.Lock()
	for _, g := range applied {
		audit.grants[g] = true
	}
	audit.mu.Unlock()
	use("create, update and destroy", granted("apply.yaml", applyAccount, "create selfsubjectaccessreviews.authorization.k8s.io"))
}

func TestAccCredentialsThatFailInTheMiddleSayHowToGoOn(t *testing.T) {
	f := newFixture(t)
	w, s, p := f.workspace(), f.threeSteps(), f.proxy()
	var mu sync.Mutex
	answer := 0
	refuse := func(code int) {
		mu.Lock()
		defer mu.Unlock()
		answer = code
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		code := answer
		mu.Unlock()
		dry := strings.Contains(r.URL.RawQuery, "dryRun=All")
		if code == 0 || dry || r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/applications/"+f.app("staging")) {
			p.ServeHTTP(rw, r)
			return
		}
		reason := map[int]metav1.StatusReason{http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden}[code]
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(code)
		fmt.Fprintf(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"refused by the test","code":%d}`, reason, code)
	}))
	f.Cleanup(server.Close)
	s.Provider = obj{"kubernetes": obj{"host": server.URL}}
	f.release("1", "dev", "staging", "prod")
	w.configure(s)
	w.apply()

	f.release("2", "dev", "staging", "prod")
	refuse(http.StatusUnauthorized)
	w.failsToApply("Credentials refused", f.app("staging"), "refused by the test", "A fixed token expires during a long apply",
		"kubernetes = { exec = { ... } }", `run "terraform apply" again`)
	f.must(f.deploys("2", "dev"), f.deploys("1", "staging", "prod"))
	refuse(http.StatusForbidden)
	w.failsToApply("Request refused", f.app("staging"), "refused by the test", `resources: ["applications"]`, `verbs: ["update"]`,
		"kubectl -n argocd auth can-i update applications.argoproj.io", "run terraform apply again")
	refuse(0)
	w.apply()
	f.must(f.deploys("2", "dev", "staging", "prod"))
	w.atRest()
	s.Provider = nil
	w.configure(s)
}
