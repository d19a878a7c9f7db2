//go:build linux

package acceptance

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
)

// Argo CD's ApplicationSet controller runs here, with progressive syncs enabled, so the tests share a control plane of their own.
func TestAccTakeOver(t *testing.T) {
	requireAcceptance(t)
	t.Parallel()
	cluster := cptest.Fragile(t)
	if err := cluster.StartApplicationSetController(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.StopApplicationSetController(); err != nil {
			t.Error(err)
		}
	})
	tests := map[string]func(*move){
		"there and back":      (*move).thereAndBack,
		"killed in each step": (*move).killedInEachStep,
		"killed and lost":     (*move).killedAndLost,
		"of a team":           (*move).ofATeam,
		"of an Application":   (*move).ofAnApplication,
		"rolling out":         (*move).rollingOut,
		"automated":           (*move).automated,
		"by hand":             (*move).byHand,
	}
	if os.Getenv(soakEnv) != "" {
		tests["a fleet"] = (*move).fleet
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		t.Run(name, func(t *testing.T) {
			if name != "a fleet" {
				t.Parallel()
			}
			f := fragileFixture(t, cluster)
			f.asAccount = f.kubeconfigOf(f.mover("mover"))
			test(&move{workspace: f.workspace(), seen: f.record()})
		})
	}
}

// move is a set that moves from the cluster's controller to Terraform.
type move struct {
	*workspace
	seen *recorder
}

// undisturbed fails if an Application or a workload was deleted since began, or an Application was synced.
func (m *move) undisturbed(began, workloads map[string]string) {
	m.Helper()
	m.must(m.nothingDeleted(m.seen, workloads), m.seen.operations(0, m.apps("dev", "staging", "prod")...))
	m.sameUIDs(began)
}

// shows compares the part of an output between two lines with the one in the documentation, where the set has the name guestbook. That is of the
// terraform on PATH: other programs have other words.
func (m *move) shows(name string, r result, from, to string) {
	m.Helper()
	if terraformPath != "terraform" {
		return
	}
	head, err := m.repo.Head()
	if err != nil {
		m.Fatal(err)
	}
	output := m.asShown(m.cut(r.out, from, to), m.liveApps(m.ctx())...)
	output = strings.NewReplacer(address, resourceType+"."+shownSet, `"test"`, `"`+shownSet+`"`, "@"+head[:7], "@"+shownCommit).Replace(output)
	m.compareOutputs(map[string]string{name: output})
}

func (m *move) thereAndBack() {
	names := m.apps("dev", "staging", "prod")
	m.inCluster("dev", "staging", "prod")
	began, workloads := m.uids(), m.workloads()
	m.seen.reset()

	// A plan with a generated configuration, and nothing has changed.
	m.configure(text(m.provider(nil) + m.importBlock()))
	r := m.plan("-generate-config-out=guestbook.tf")
	m.says(r, "(imported from", "ApplicationSet in the cluster will be taken over", "3 Applications: "+strings.Join([]string{m.app("dev"), m.app("prod"), m.app("staging")}, ", "),
		"(in-cluster)\" ->", "Plan: 1 to import, 0 to add, 1 to change, 0 to destroy")
	m.saysNot(r, "Automated sync will be switched off", "manifest = jsonencode( ->")
	m.shows("moving plan", r, "^ +~ waves ", "back[.]$")
	generated, err := os.ReadFile(filepath.Join(m.cli.dir, "guestbook.tf"))
	if err != nil {
		m.Fatal(err)
	}
	for _, want := range []string{"manifest  = jsonencode({", "deletionOrder = \"Reverse\"", `"example.com/team" = "web"`} {
		if !strings.Contains(words(string(generated)), words(want)) {
			m.Errorf("the generated configuration does not contain %q:\n%s", want, generated)
		}
	}
	if m.controlled() != 3 || m.recordOf(m.name) != nil {
		m.Error("a plan has changed something")
	}

	m.says(m.apply(), "1 imported, 0 added, 1 changed")
	m.undisturbed(began, workloads)
	m.must(m.appSetGone, m.isOurs(names...))
	m.isState("complete")
	m.atRest()

	// It is a set as any other: a commit rolls out in steps.
	m.seen.reset()
	m.release("2", "dev", "staging", "prod")
	m.apply()
	m.must(m.seen.inOrder(m.apps("dev"), m.apps("staging"), m.apps("prod")), m.deploys("2", "dev", "staging", "prod"), m.isOurs(names...))

	// The way back.
	if err := os.Remove(filepath.Join(m.cli.dir, "guestbook.tf")); err != nil {
		m.Fatal(err)
	}
	m.seen.reset()
	workloads = m.workloads()
	m.configure(text(m.provider(nil) + "removed {\n  from = " + address + "\n  lifecycle {\n    destroy = false\n  }\n}\n"))
	m.says(m.apply(), "but will not be destroyed", "0 added, 0 changed, 0 destroyed")
	m.must(m.isOurs(names...))
	m.createAppSet(parse(m.reader(nil).reads().YAML))
	m.awaitAdopted(3)
	m.until("the controller has removed the marks", func() bool {
		for _, app := range m.liveApps(m.ctx()) {
			if app.GetLabels()[setLabel] != "" || app.GetAnnotations()[ownerAnnotation] != "" {
				return false
			}
		}
		return true
	})
	m.undisturbed(began, workloads)

	// And there once more: the record of the first time does not stand in the way.
	m.configure(text(m.provider(nil) + m.importBlock() + block(`resource "`+resourceType+`" "test"`, obj{"name": m.name, "manifest": manifest(m.appSet("dev", "staging", "prod").Object)}, "")))
	m.says(m.apply(), "1 imported")
	m.undisturbed(began, workloads)
	m.must(m.appSetGone, m.isOurs(names...))
	m.atRest()
	m.destroy()
	m.lives()
	if left := m.workloads(); len(left) > 0 {
		m.Errorf("workloads are left: %v", left)
	}
}
