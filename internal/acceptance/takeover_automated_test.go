//go:build linux

package acceptance

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

// automated: an ApplicationSet with no strategy, whose Applications sync themselves and leave what they have deployed when they are
// deleted, goes to Terraform, and back by the commands of the guide.
func (m *move) automated() {
	apps := m.apps("dev", "prod")
	m.deployFirst("dev", "prod")
	set := m.allAtOnce(m.appSet("dev", "prod"))
	spec := set.Object["spec"].(obj)
	spec["syncPolicy"] = obj{"preserveResourcesOnDeletion": true}
	template := spec["template"].(obj)
	delete(template["metadata"].(obj), "finalizers")
	template["spec"].(obj)["syncPolicy"] = obj{"automated": obj{"prune": true, "selfHeal": true}}
	m.createAppSet(set)
	m.awaitRest(func() bool { return m.controlled() == 2 && m.switchedOn(apps...) == nil })
	began, workloads := m.uids(), m.workloads()
	m.seen.reset()

	s := m.newSet(nil)
	s.Manifest = manifest(set.Object)
	s.Provider = obj{"progress": obj{"path": filepath.Join(m.cli.dir, "progress.log"), "format": "json"}}
	m.configure(s)
	m.cli.want(exitEmpty, "import", address, argoNamespace+"/"+m.name)
	m.saysNot(m.plan(), "Automated sync will be switched off", "will be deleted")
	m.apply()
	m.stages(m.progressOf("progress.log"))
	untouched := func() {
		m.Helper()
		m.must(m.nothingDeleted(m.seen, workloads), m.seen.operations(0, apps...), func() error { return m.switchedOn(apps...) })
		m.sameUIDs(began)
	}
	untouched()
	m.must(m.appSetGone, m.isOurs(apps...))
	m.atRest()

	// The way back, as the guide says, and nothing is left of Terraform then.
	guide, dir := m.guideCommands("moving.md"), m.TempDir()
	m.configure(text(m.provider(nil) + "removed {\n  from = " + address + "\n  lifecycle {\n    destroy = false\n  }\n}\n"))
	m.apply()
	fetch := m.block(guide, "jq .applicationSet")
	record, _, _ := strings.Cut(fetch, "\n")
	m.runs(dir, fetch)
	m.runs(dir, m.block(guide, "kubectl apply"))
	m.until("the controller has adopted them again", func() bool { return m.controlled() == 2 })
	m.runs(dir, record+"\n"+m.block(guide, "kubectl -n argocd delete configmap,lease"))
	untouched()
	if left := m.traces(); left["record"] != "" || left["Lease"] != "" {
		m.Errorf("the commands of the guide have left %v", left)
	}

	// And there once more, to see what a destroy leaves.
	m.configure(s)
	m.cli.want(exitEmpty, "import", address, argoNamespace+"/"+m.name)
	m.apply()
	untouched()
	m.destroy()
	m.lives()
	m.must(m.deploys("1", "dev", "prod"))
}

// switchedOn fails unless these Applications sync themselves.
func (m *move) switchedOn(apps ...string) error {
	for _, name := range apps {
		if s := newAppState(m.getApp(m.ctx(), name)); !s.AutomatedOn {
			return fmt.Errorf("automated sync of %s is off", name)
		}
	}
	return nil
}

// stages fails unless the lines tell all that a take-over of two Applications waits for, in this order.
func (m *move) stages(lines []progressLine) {
	m.Helper()
	const over = "taking the ApplicationSet in the cluster over"
	want := []string{
		"looking at the ApplicationSet in the cluster", over + ", with 2 Applications", over + ": freezing the ApplicationSet",
		over + ": waiting until its controller has seen that the ApplicationSet is frozen, 2m0s at most", over + ": letting 2 Applications go",
		over + ": deleting the ApplicationSet, keeping its Applications", over + ": waiting until the ApplicationSet is gone",
		"the ApplicationSet is gone; marking 2 Applications",
	}
	for _, l := range lines {
		if len(want) > 0 && strings.HasPrefix(l.Text, want[0]) {
			want = want[1:]
		}
	}
	if len(want) > 0 {
		m.Errorf("the lines do not tell %q in its turn: %+v", want[0], lines)
	}
}

// byHand: the commands that errors print delete an ApplicationSet under its running controller, and undo what the first of them have done.
func (m *move) byHand() {
	apps := m.apps("dev", "prod")
	m.inCluster("dev", "prod")
	began, workloads := m.uids(), m.workloads()
	m.seen.reset()
	client, err := argocd.New(m.cluster.RESTConfig(), argoNamespace)
	if err != nil {
		m.Fatal(err)
	}
	printed := func(text func(*argocd.InCluster) string) string {
		m.Helper()
		set, err := client.InCluster(m.ctx(), argocd.Owner{Namespace: argoNamespace, Name: m.name})
		if err != nil || set == nil {
			m.Fatalf("there is no ApplicationSet (%v)", err)
		}
		return m.commandsIn(text(set))
	}
	before := m.live().Object["spec"]
	deletion := printed((*argocd.InCluster).DeleteByHand)
	lines := strings.Split(deletion, "\n")
	froze := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "  until ") })
	m.runs(m.TempDir(), strings.TrimSuffix(strings.Join(lines[:froze+1], "\n"), " &&"))
	if spec := m.live().Object["spec"]; manifest(obj{"spec": spec}) == manifest(obj{"spec": before}) {
		m.Error("the first commands have changed nothing")
	}
	m.thaws(m.block(m.guideCommands("moving.md"), "--type=json"), before)
	m.awaitAdopted(2)
	m.runs(m.TempDir(), printed((*argocd.InCluster).DeleteByHand))
	m.until("nothing refers to the ApplicationSet", func() bool { return m.controlled() == 0 })
	m.must(m.appSetGone, m.nothingDeleted(m.seen, workloads), m.seen.operations(0, apps...))
	m.sameUIDs(began)
	for _, app := range apps {
		m.removeApp(app)
	}
}

// thaws undoes the freezing of the ApplicationSet by a command: its spec is what it was, and the same command does nothing more.
func (m *move) thaws(command string, before any) {
	m.Helper()
	for i := range 2 {
		out, err := m.shell(m.TempDir(), command)
		if (err == nil) != (i == 0) {
			m.Errorf("time %d: %v: %s", i+1, err, out)
		}
		if now := m.live().Object["spec"]; manifest(obj{"spec": now}) != manifest(obj{"spec": before}) {
			m.Errorf("time %d: the spec was %v, and is %v", i+1, before, now)
		}
	}
}
