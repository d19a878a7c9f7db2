package provider

import (
	"regexp"
	"strings"
	"testing"

	tftest "github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

func step(values string) string {
	return `{ type = "RollingSync", rolling_sync = { steps = [
        { match_expressions = [{ key = "env", operator = "In", values = ["dev"] }] },
        { ` + values + ` },
      ] } }`
}

// spaced matches texts that follow each other, however terraform wraps them.
func spaced(texts ...string) *regexp.Regexp {
	patterns := make([]string, len(texts))
	for i, text := range texts {
		words := strings.Fields(text)
		for j, w := range words {
			words[j] = regexp.QuoteMeta(w)
		}
		patterns[i] = strings.Join(words, `[\s│]+`)
	}
	return regexp.MustCompile(strings.Join(patterns, `[\s\S]*`))
}

func TestBadInputIsAnErrorAtPlanThatNamesTheAttribute(t *testing.T) {
	for name, c := range map[string]struct {
		config interface{ String() string }
		// at is the attribute that the message names, empty where the message is about all.
		summary, text, at string
	}{
		"an operator that Argo CD does not know": {
			setOf{strategy: step(`match_expressions = [{ key = "env", operator = "Exists", values = ["x"] }]`)},
			"Invalid strategy", `"Exists"`, "spec.strategy.rolling_sync.steps[1].match_expressions[0].operator",
		},
		"a max_update that is no number": {
			setOf{strategy: step(`max_update = "abc"`)},
			"Invalid strategy", `"abc" is not allowed`, "spec.strategy.rolling_sync.steps[1].max_update",
		},
		"a negative max_update": {
			setOf{strategy: step(`max_update = -1`)},
			"Invalid strategy", "-1 is not allowed", "spec.strategy.rolling_sync.steps[1].max_update",
		},
		"a missing key": {
			setOf{metadata: `{ name = "{{.missing}}-guestbook" }`},
			"Template failed", "missing", "spec.template.metadata.name",
		},
		"an invalid name": {
			setOf{metadata: `{ name = "{{.cluster}}_guestbook" }`},
			"Invalid Application name", "dev_guestbook", "spec.template.metadata.name",
		},
		"two elements with one name": {
			setOf{metadata: `{ name = "guestbook" }`},
			"Duplicate Application name", `"guestbook"`, "spec.template.metadata.name",
		},
		"no elements": {
			setOf{elements: "[]"},
			"Empty set", "rollout.allow_empty = true", "",
		},
		"an unknown field in a generator": {
			raw(strings.Replace(setOf{}.String(), "list = { elements", "list = { element_list = [], elements", 1)),
			"Unknown field", "elementList", "spec.generators[0].list.element_list",
		},
		"neither spec nor manifest": {
			raw(nowhere + `resource "argocdprogressive_applicationset" "test" { name = "x" }`),
			"Missing specification", "exactly one of spec and manifest", "",
		},
		"both spec and manifest": {
			setOf{options: `manifest = "{}"`},
			"Two specifications", "exactly one", "",
		},
		"a manifest of another name": {
			raw(nowhere + `resource "argocdprogressive_applicationset" "test" {
  name     = "a"
  manifest = jsonencode({ apiVersion = "argoproj.io/v1alpha1", kind = "ApplicationSet", metadata = { name = "b" }, spec = {} })
}`),
			"Contradicting name", `metadata.name of the manifest is "b"`, "",
		},
		"a manifest of another namespace": {
			raw(nowhere + `resource "argocdprogressive_applicationset" "test" {
  name      = "a"
  namespace = "b"
  manifest  = jsonencode({ apiVersion = "argoproj.io/v1alpha1", kind = "ApplicationSet", metadata = { name = "a", namespace = "c" }, spec = {} })
}`),
			"Contradicting namespace", `metadata.namespace of the manifest is "c", but the resource's namespace is "b"`, "",
		},
		"something wrong inside of a manifest": {
			raw(nowhere + `resource "argocdprogressive_applicationset" "test" {
  name     = "a"
  manifest = jsonencode({ apiVersion = "argoproj.io/v1alpha1", kind = "ApplicationSet", spec = { generators = [], template = { metadata = { name = "x" }, spec = {}, extra = 1 } } })
}`),
			"Unknown field", "At spec.template.extra of the manifest", "",
		},
		"a name that is no object name": {
			raw(strings.Replace(setOf{}.String(), `name = "guestbook"`, `name = "Guest_book"`, 1)),
			"Invalid Attribute Value Match", objectNameRule, "",
		},
		"a duration that is none": {
			setOf{options: `rollout = { app_timeout = "10 minutes" }`},
			"Invalid duration", `"10 minutes" is not a duration`, "rollout.app_timeout",
		},
		"a rollout that has no time for an Application": {
			setOf{options: `rollout = { app_timeout = "0s" }`},
			"Invalid duration", `"0s" is not a duration above zero`, "rollout.app_timeout",
		},
		"a rollout that has no time at all": {
			setOf{options: `timeouts = { create = "0s" }`},
			"Invalid duration", `"0s" is not a duration above zero`, "timeouts.create",
		},
		"a negative timeout": {
			setOf{options: `timeouts = { delete = "-1s" }`},
			"Invalid duration", `"-1s" is not a duration above zero`, "timeouts.delete",
		},
		"a fraction where a whole number is needed": {
			raw(strings.Replace(setOf{}.String(), `project `, "revision_history_limit = 0.5\n        project ", 1)),
			"Invalid number", "0.5 is not a whole number", "spec.template.spec.revision_history_limit",
		},
		"a number that is too large": {
			raw(strings.Replace(setOf{}.String(), `project `, "revision_history_limit = 1e30\n        project ", 1)),
			"Invalid number", "1e+30 is not a whole number", "spec.template.spec.revision_history_limit",
		},
		"an amount that is none": {
			setOf{options: `rollout = { max_deletions = "half" }`},
			"Invalid amount", `"half" is not a whole number`, "rollout.max_deletions",
		},
	} {
		t.Run(name, func(t *testing.T) {
			where := ""
			if c.at != "" {
				where = "At " + c.at + ":"
			}
			tftest.UnitTest(t, tftest.TestCase{
				ProtoV6ProviderFactories: planProviders,
				Steps: []tftest.TestStep{{
					Config: c.config.String(), PlanOnly: true,
					ExpectError: spaced("Error: "+c.summary, where, c.text),
				}},
			})
		})
	}
}
