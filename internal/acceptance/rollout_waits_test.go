package acceptance

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/helmrepo"
)

func TestAccHooksAndSyncWavesRunOnceAndInOrder(t *testing.T) {
	f := newFixture(t)
	annotated := func(name string, annotations map[string]any) string {
		return manifest(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": name, "annotations": annotations},
			"data":     map[string]any{"version": "1"},
		})
	}
	// A hook with generateName leaves one object for each time it ran.
	f.writeFile(f.path("dev")+"/hook.yaml", manifest(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"generateName": f.name + "-hook-", "annotations": map[string]any{
			"argocd.argoproj.io/hook": "PreSync", "argocd.argoproj.io/hook-delete-policy": "HookFailed",
		}},
	}))
	f.writeFile(f.path("dev")+"/first.yaml", annotated(f.name+"-first", map[string]any{"argocd.argoproj.io/sync-wave": "1"}))
	f.writeFile(f.path("dev")+"/second.yaml", annotated(f.name+"-second", map[string]any{"argocd.argoproj.io/sync-wave": "2"}))
	f.write("prod", map[string]string{"version": "1"})
	f.commit()
	s := f.newSet([]string{"dev", "prod"}, "dev", "prod")
	r := f.record()
	f.run(resource.TestStep{
		Config: s.String(),
		Check: check(
			r.inOrder(f.apps("dev"), f.apps("prod")),
			r.operations(1, f.apps("dev", "prod")...),
			func() error {
				return f.createdInOrder(f.name+"-hook-", f.name+"-first", f.name+"-second", f.app("prod"))
			},
		),
	})
}

// createdInOrder fails unless there is exactly one ConfigMap for each of these beginnings of a name,
// and they were written in this order.
func (f *fixture) createdInOrder(prefixes ...string) error {
	found, err := f.client.Resource(configMaps).Namespace(f.name).List(f.ctx(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	last := 0
	for _, prefix := range prefixes {
		var names []string
		version := 0
		for _, cm := range found.Items {
			if strings.HasPrefix(cm.GetName(), prefix) {
				names = append(names, cm.GetName())
				version, _ = strconv.Atoi(cm.GetResourceVersion())
			}
		}
		if len(names) != 1 {
			return fmt.Errorf("there are %d ConfigMaps %s*, not one: %v", len(names), prefix, names)
		}
		if version <= last {
			return fmt.Errorf("ConfigMap %s was written before the one it has to follow", names[0])
		}
		last = version
	}
	return nil
}

func TestAccAnApplicationThatStaysProgressingHoldsBackTheNextStep(t *testing.T) {
	f := newFixture(t)
	f.unhealthy("Progressing", "1", "dev-a")
	f.release("1", "dev-b", "prod")
	s := f.newSet([]string{"dev-a/dev", "dev-b/dev", "prod"}, "dev", "prod")
	s.AppSpec = ignoreHealth
	r := f.record()
	free := f.actor(func(ctx context.Context) error {
		if _, err := r.await(ctx, f.app("dev-a"), "is progressing", progressing); err != nil {
			return err
		}
		if err := pause(ctx, 3*time.Second); err != nil {
			return err
		}
		if s := r.get(f.app("prod")); s != nil {
			return fmt.Errorf("the next step has begun: %s", s)
		}
		return f.setHealth(ctx, f.app("dev-a"), "Healthy")
	})
	f.run(resource.TestStep{
		PreConfig: free.Start,
		Config:    s.String(),
		Check:     check(free.Check, r.inOrder(f.apps("dev-a", "dev-b"), f.apps("prod")), r.operations(1, f.apps("dev-a", "dev-b", "prod")...)),
	})
}

func TestAccInAndNotInOnOneKeySelectWhatBothAllow(t *testing.T) {
	f := newFixture(t)
	f.release("1", "dev", "qa", "prod")
	expression := func(operator string, values ...string) obj {
		return obj{"key": "env", "operator": operator, "values": values}
	}
	s := f.newSet([]string{"dev", "qa", "prod"})
	s.Steps = []step{
		{Match: list{expression("In", "dev", "qa"), expression("NotIn", "dev")}},
		{Match: list{expression("NotIn", "prod")}},
		{Match: list{expression("In", "prod", "qa")}},
	}
	r := f.record()
	f.run(resource.TestStep{
		Config:           s.String(),
		ConfigPlanChecks: planned(plansWaves(f.apps("qa"), f.apps("dev"), f.apps("prod"))),
		Check:            check(r.inOrder(f.apps("qa"), f.apps("dev"), f.apps("prod"))),
	})
}

func TestAccTwoChartsOfOneRepositoryDoNotShareAPin(t *testing.T) {
	f := newFixture(t)
	charts := cptest.Charts(t,
		helmrepo.Chart{Name: "alpha", Version: "1.0.0"}, helmrepo.Chart{Name: "alpha", Version: "1.2.0"},
		helmrepo.Chart{Name: "beta", Version: "2.3.0"},
	)
	s := f.newSet([]string{"dev-alpha/dev", "dev-beta/dev", "prod-alpha/prod", "prod-beta/prod"}, "dev", "prod")
	for i, chart := range []string{"alpha", "beta", "alpha", "beta"} {
		s.Elements[i]["chart"] = chart
	}
	s.Source = obj{"repo_url": charts.URL(), "chart": "{{.chart}}", "target_revision": ">=1.0.0"}
	r := f.record()
	f.run(resource.TestStep{
		Config: s.String(),
		Check: check(
			r.inOrder(f.apps("dev-alpha", "dev-beta"), f.apps("prod-alpha", "prod-beta")),
			r.at("1.2.0", f.apps("dev-alpha", "prod-alpha")...),
			r.at("2.3.0", f.apps("dev-beta", "prod-beta")...),
			f.deploys("1.2.0", "dev-alpha", "prod-alpha"),
			f.deploys("2.3.0", "dev-beta", "prod-beta"),
		),
	})
}
