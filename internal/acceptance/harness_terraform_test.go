package acceptance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/provider"
)

const (
	resourceType    = "argocdprogressive_applicationset"
	inClusterServer = controlplane.InClusterServer
	// address is that of the resource of newSet.
	address = resourceType + ".test"
)

var factories = map[string]func() (tfprotov6.ProviderServer, error){
	"argocdprogressive": providerserver.NewProtocol6WithError(provider.New("test")()),
}

// run runs the steps, then destroys what is left. After each apply terraform-plugin-testing makes
// two plans, the second with a refresh, and requires both to be empty.
func (f *fixture) run(steps ...resource.TestStep) {
	f.Helper()
	resource.Test(f.T, resource.TestCase{ProtoV6ProviderFactories: factories, Steps: steps})
}

// check makes a check of Terraform's out of several.
func check(checks ...func() error) resource.TestCheckFunc {
	return func(*terraform.State) error {
		var errs []error
		for _, c := range checks {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
}

// must runs the checks outside of a step, in a PreConfig.
func (f *fixture) must(checks ...func() error) {
	f.Helper()
	for _, c := range checks {
		if err := c(); err != nil {
			f.Fatal(err)
		}
	}
}

// planned are checks of the plan of a step.
func planned(checks ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: checks}
}

// wavesCheck looks at the waves of address in a plan.
type wavesCheck func(before, after waves) error

// waves is the computed map: step label -> Application -> target. A target that is known only after
// apply is "?"; a step whose Applications are unknown has the one Application "?".
type waves map[string]map[string]string

func (c wavesCheck) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, change := range req.Plan.ResourceChanges {
		if change.Address == address {
			before, after := wavesOf(change.Change.Before, nil), wavesOf(change.Change.After, change.Change.AfterUnknown)
			if err := c(before, after); err != nil {
				resp.Error = fmt.Errorf("%w\nbefore: %v\nplanned: %v\nactions: %v", err, before, after, change.Change.Actions)
			}
			return
		}
	}
	resp.Error = fmt.Errorf("%s is not in the plan", address)
}

// wavesOf reads the waves of a resource in a plan; nil when all are unknown.
func wavesOf(value, unknown any) waves {
	at := func(v any, key string) any {
		m, _ := v.(map[string]any)
		return m[key]
	}
	w := waves{}
	if at(unknown, "waves") == true {
		return nil
	}
	for _, source := range []any{at(value, "waves"), at(unknown, "waves")} {
		steps, _ := source.(map[string]any)
		for label, apps := range steps {
			if w[label] == nil {
				w[label] = map[string]string{}
			}
			if apps == true {
				w[label]["?"] = "?"
			}
			inner, _ := apps.(map[string]any)
			for app, target := range inner {
				if target == true {
					target = "?"
				}
				w[label][app], _ = target.(string)
			}
		}
	}
	return w
}

// changed lists the Applications, sorted, whose target or step differs.
func changed(before, after waves) []string {
	flat := func(w waves) map[string]string {
		all := map[string]string{}
		for label, apps := range w {
			for app, target := range apps {
				all[app] = label + "|" + target
			}
		}
		return all
	}
	was, is := flat(before), flat(after)
	var names []string
	for app := range is {
		if was[app] != is[app] || is[app] == "" {
			names = append(names, app)
		}
	}
	for app := range was {
		if _, ok := is[app]; !ok {
			names = append(names, app)
		}
	}
	slices.Sort(names)
	return names
}

// plansExactly fails unless the plan changes, creates or deletes exactly these Applications.
func plansExactly(names ...string) plancheck.PlanCheck {
	want := slices.Sorted(slices.Values(names))
	return wavesCheck(func(before, after waves) error {
		if got := changed(before, after); !slices.Equal(got, want) {
			return fmt.Errorf("the plan changes [%s], not [%s]", strings.Join(got, " "), strings.Join(want, " "))
		}
		return nil
	})
}

// plansWaves fails unless the planned waves have exactly these steps, in this order, with these
// Applications.
func plansWaves(groups ...[]string) plancheck.PlanCheck {
	return wavesCheck(func(_, after waves) error {
		labels := slices.Sorted(maps.Keys(after))
		if len(labels) != len(groups) {
			return fmt.Errorf("%d steps are planned, not %d", len(labels), len(groups))
		}
		for i, label := range labels {
			got, want := slices.Sorted(maps.Keys(after[label])), slices.Sorted(slices.Values(groups[i]))
			if !slices.Equal(got, want) {
				return fmt.Errorf("%q has [%s], not [%s]", label, strings.Join(got, " "), strings.Join(want, " "))
			}
		}
		return nil
	})
}

// plansRevision fails unless the planned targets of the Applications name this commit.
func plansRevision(sha string, names ...string) plancheck.PlanCheck {
	return plansRevisionOf(&sha, names...)
}

// plansRevisionOf is plansRevision for a commit that is made later.
func plansRevisionOf(sha *string, names ...string) plancheck.PlanCheck {
	return wavesCheck(func(_, after waves) error {
		var errs []error
		for _, name := range names {
			found := ""
			for _, apps := range after {
				if target, ok := apps[name]; ok {
					found = target
				}
			}
			if !strings.Contains(found, "@"+(*sha)[:7]+" ") {
				errs = append(errs, fmt.Errorf("%s is planned to go to %q, not to %s", name, found, (*sha)[:7]))
			}
		}
		return errors.Join(errs...)
	})
}

// plansAction fails unless the resource is planned to be created, updated or replaced so.
func plansAction(action plancheck.ResourceActionType) plancheck.PlanCheck {
	return plancheck.ExpectResourceAction(address, action)
}
