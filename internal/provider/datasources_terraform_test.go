package provider

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	tftest "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

func TestDataSourceSchemasAreAccepted(t *testing.T) {
	for _, d := range []datasource.DataSource{NewApplicationsDataSource(), NewParametersDataSource()} {
		var resp datasource.SchemaResponse
		d.Schema(t.Context(), datasource.SchemaRequest{}, &resp)
		if diags := resp.Schema.ValidateImplementation(t.Context()); diags.HasError() {
			t.Error(diags)
		}
		for name, a := range resp.Schema.Attributes {
			if a.GetMarkdownDescription() == "" {
				t.Errorf("%s has no description", name)
			}
		}
	}
}

// matrixOf are two environments and two teams.
const matrixOf = `[{ matrix = { generators = [
    { list = { elements = [{ env = "dev", replicas = 1, canary = true }, { env = "prod", replicas = 3, canary = false }] } },
    { list = { elements = [{ team = "web", more = { port = 80, none = null } }, { team = "api", more = { port = 8080 } }] } },
  ] } }]`

const previewTemplate = `{
    metadata = { name = "{{.team}}-{{.env}}", labels = { env = "{{.env}}" } }
    spec = {
      project     = "default"
      source      = { repo_url = "https://example.com/repo.git", target_revision = "main", path = "apps/{{.team}}", helm = { values_object = { replicas = "{{.replicas}}" } } }
      destination = { name = "in-cluster", namespace = "x" }
    }
  }`

const previewSteps = `{
    type = "RollingSync"
    rolling_sync = { steps = [
      { match_expressions = [{ key = "env", operator = "In", values = ["dev"] }] },
      { match_expressions = [{ key = "env", operator = "In", values = ["prod"] }] },
    ] }
  }`

func outputs(t *testing.T, config string, checks ...statecheck.StateCheck) {
	t.Helper()
	tftest.UnitTest(t, tftest.TestCase{
		ProtoV6ProviderFactories: planProviders,
		Steps:                    []tftest.TestStep{{Config: nowhere + config, ConfigStateChecks: checks}},
	})
}

func TestParametersAreWhatPureGeneratorsGive(t *testing.T) {
	outputs(t, fmt.Sprintf(`
data "argocdprogressive_parameters" "test" {
  go_template = true
  generators  = %s
}
output "parameters" { value = data.argocdprogressive_parameters.test.parameters }
`, matrixOf), statecheck.ExpectKnownOutputValue("parameters", knownvalue.TupleExact([]knownvalue.Check{
		parameters("dev", 1, true, "web", 80), parameters("dev", 1, true, "api", 8080),
		parameters("prod", 3, false, "web", 80), parameters("prod", 3, false, "api", 8080),
	})))
}

func parameters(env string, replicas int64, canary bool, team string, port int64) knownvalue.Check {
	return knownvalue.ObjectPartial(map[string]knownvalue.Check{
		"env": knownvalue.StringExact(env), "replicas": knownvalue.Int64Exact(replicas), "canary": knownvalue.Bool(canary),
		"team": knownvalue.StringExact(team), "more": knownvalue.ObjectPartial(map[string]knownvalue.Check{"port": knownvalue.Int64Exact(port)}),
	})
}

func TestApplicationsArePreviewedWithTheirSteps(t *testing.T) {
	outputs(t, fmt.Sprintf(`
data "argocdprogressive_applications" "test" {
  name = "guestbook"
  spec = {
    go_template = true
    generators  = %s
    strategy    = %s
    template    = %s
  }
}
locals { found = data.argocdprogressive_applications.test }
output "steps" { value = { for a in local.found.applications : a.name => a.step } }
output "waves" { value = local.found.waves }
output "path"  { value = local.found.applications[0].object.spec.source.path }
output "yaml"  { value = yamldecode(local.found.yaml["web-prod"]).spec.source.helm.valuesObject.replicas }
output "same"  { value = yamldecode(local.found.yaml["api-dev"]) == local.found.applications[0].object }
`, matrixOf, previewSteps, previewTemplate),
		statecheck.ExpectKnownOutputValue("steps", knownvalue.ObjectExact(map[string]knownvalue.Check{
			"api-dev": knownvalue.StringExact(stepDev), "web-dev": knownvalue.StringExact(stepDev),
			"api-prod": knownvalue.StringExact(stepProd), "web-prod": knownvalue.StringExact(stepProd),
		})),
		statecheck.ExpectKnownOutputValue("waves", knownvalue.MapExact(map[string]knownvalue.Check{
			stepDev:  knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("api-dev"), knownvalue.StringExact("web-dev")}),
			stepProd: knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("api-prod"), knownvalue.StringExact("web-prod")}),
		})),
		statecheck.ExpectKnownOutputValue("path", knownvalue.StringExact("apps/api")),
		statecheck.ExpectKnownOutputValue("yaml", knownvalue.StringExact("3")),
		statecheck.ExpectKnownOutputValue("same", knownvalue.Bool(true)),
	)
}

// The parameters of a data source as elements give the same Applications as the generators themselves.
func TestParametersFeedAListGenerator(t *testing.T) {
	for name, goTemplate := range map[string]struct{ flag, matrix, template string }{
		"go templates": {"true", matrixOf, previewTemplate},
		"tags": {"false", `[{ merge = { merge_keys = ["env"], generators = [
    { list = { elements = [{ env = "dev", values = { tier = "a" } }, { env = "prod", values = { tier = "a" } }] } },
    { list = { elements = [{ env = "prod", values = { tier = "b" } }] } },
  ] } }]`, `{
    metadata = { name = "x-{{env}}-{{values.tier}}", labels = { env = "{{env}}" } }
    spec = {
      project     = "default"
      source      = { repo_url = "https://example.com/repo.git", path = "." }
      destination = { name = "in-cluster" }
    }
  }`},
	} {
		t.Run(name, func(t *testing.T) {
			outputs(t, fmt.Sprintf(`
locals { template = %[3]s }
data "argocdprogressive_parameters" "test" {
  go_template = %[1]s
  generators  = %[2]s
}
data "argocdprogressive_applications" "direct" {
  name = "guestbook"
  spec = { go_template = %[1]s, generators = %[2]s, template = local.template }
}
data "argocdprogressive_applications" "frozen" {
  name = "guestbook"
  spec = {
    go_template = %[1]s
    generators  = [{ list = { elements = data.argocdprogressive_parameters.test.parameters } }]
    template    = local.template
  }
}
output "same"  { value = data.argocdprogressive_applications.direct.yaml == data.argocdprogressive_applications.frozen.yaml }
output "names" { value = join(" ", keys(data.argocdprogressive_applications.frozen.yaml)) }
`, goTemplate.flag, goTemplate.matrix, goTemplate.template),
				statecheck.ExpectKnownOutputValue("same", knownvalue.Bool(true)),
				statecheck.ExpectKnownOutputValue("names", knownvalue.StringExact(map[string]string{
					"true": "api-dev api-prod web-dev web-prod", "false": "x-dev-a x-prod-b",
				}[goTemplate.flag])))
		})
	}
}

func TestDataSourcesSayWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ config, says string }{
		"an unknown kind of generator": {`data "argocdprogressive_parameters" "test" {
  generators = [{ lisst = { elements = [] } }]
}`, `(?s)Unknown field.*generators\[0\].lisst`},
		"a template that fails": {`data "argocdprogressive_applications" "test" {
  name = "guestbook"
  spec = { go_template = true, go_template_options = ["missingkey=error"], generators = [{ list = { elements = [{ a = 1 }] } }], template = ` + previewTemplate + ` }
}`, `(?s)Template failed.*team`},
		"no cluster": {`provider "argocdprogressive" {
  kubernetes = { config_path = "/nowhere/config" }
}
data "argocdprogressive_parameters" "test" {
  generators = [{ clusters = {} }]
}`, `(?s)No connection to the cluster.*data.argocdprogressive_parameters\s+needs\s+the\s+cluster.*/nowhere/config`},
		"both spec and manifest are missing": {`data "argocdprogressive_applications" "test" {
  name = "guestbook"
}`, `Set\s+exactly\s+one\s+of\s+spec\s+and\s+manifest`},
	} {
		t.Run(name, func(t *testing.T) {
			config := c.config
			if !strings.Contains(config, "provider") {
				config = nowhere + config
			}
			tftest.UnitTest(t, tftest.TestCase{
				ProtoV6ProviderFactories: planProviders,
				Steps:                    []tftest.TestStep{{Config: config, ExpectError: expression(c.says)}},
			})
		})
	}
}

// While the cluster is created in the same apply, a plan works with what can be known.
func TestPlanOfGeneratorsWithoutAClusterLeavesTheWavesOpen(t *testing.T) {
	s := setOf{metadata: `{ name = "{{.name}}" }`}
	config := replaceOnce(s.String(), `[{ list = { elements = [
      { cluster = "dev",  env = "dev",  url = "https://1.2.3.4" },
      { cluster = "qa",   env = "qa",   url = "https://2.4.6.8" },
      { cluster = "prod", env = "prod", url = "https://9.8.7.6" },
    ] } }]`, `[{ clusters = {} }]`)
	config = replaceOnce(replaceOnce(config, `{{.url}}`, `{{.server}}`), nowhere, notYet)
	planOnly(t, literal(config), plancheck.ExpectUnknownValue(address, tfjsonpath.New("waves")))
}

// Every generator of the guide is one that the provider takes, with all that it says.
func TestGeneratorsOfTheGuideAreAccepted(t *testing.T) {
	guide, err := os.ReadFile("../../templates/guides/generators.md")
	if err != nil {
		t.Fatal(err)
	}
	var config strings.Builder
	config.WriteString(notYet)
	found := expression("(?s)```terraform\n(generators = .*?)```").FindAllSubmatch(guide, -1)
	for i, block := range found {
		fmt.Fprintf(&config, `
resource "argocdprogressive_applicationset" "test%d" {
  name = "guide%d"
  spec = {
    go_template = true
    %s
    template = { metadata = { name = "{{.cluster}}" }, spec = { project = "default", source = { repo_url = "https://example.com/r.git", path = "." }, destination = { name = "in-cluster" } } }
  }
}
`, i, i, block[1])
	}
	if len(found) < 8 {
		t.Errorf("the guide has %d examples of generators", len(found))
	}
	tftest.UnitTest(t, tftest.TestCase{
		ProtoV6ProviderFactories: planProviders,
		Steps:                    []tftest.TestStep{{Config: config.String(), PlanOnly: true, ExpectNonEmptyPlan: true}},
	})
}

// notYet is a cluster that the same apply creates.
const notYet = `
resource "terraform_data" "cluster" {}
provider "argocdprogressive" {
  kubernetes = { host = "https://${terraform_data.cluster.id}" }
}
`

type literal string

func (l literal) String() string { return string(l) }

func expression(text string) *regexp.Regexp { return regexp.MustCompile(text) }

func replaceOnce(in, old, by string) string {
	if strings.Count(in, old) != 1 {
		panic(fmt.Sprintf("%q stands %d times in %s", old, strings.Count(in, old), in)) // a mistake in the test
	}
	return strings.Replace(in, old, by, 1)
}
