package provider

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	tftest "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// These tests plan creations with the real terraform binary. A plan of a creation asks no
// cluster, so there is none: the address in the configuration leads nowhere.

const address = "argocdprogressive_applicationset.test"

var planProviders = map[string]func() (tfprotov6.ProviderServer, error){
	"argocdprogressive": providerserver.NewProtocol6WithError(New("test")()),
}

const nowhere = `
provider "argocdprogressive" {
  kubernetes = { host = "https://127.0.0.1:1" }
}
`

// setOf is a guestbook of three environments in two steps; body overrides parts of it.
type setOf struct {
	elements, strategy, metadata, template, options, extra string
}

func (s setOf) String() string {
	or := func(v, other string) string {
		if v == "" {
			return other
		}
		return v
	}
	return nowhere + s.extra + fmt.Sprintf(`
resource "argocdprogressive_applicationset" "test" {
  name = "guestbook"
  spec = {
    go_template         = true
    go_template_options = ["missingkey=error"]
    generators          = [{ list = { elements = %s } }]
    strategy            = %s
    template = {
      metadata = %s
      spec     = %s
    }
  }
  %s
}
`,
		or(s.elements, `[
      { cluster = "dev",  env = "dev",  url = "https://1.2.3.4" },
      { cluster = "qa",   env = "qa",   url = "https://2.4.6.8" },
      { cluster = "prod", env = "prod", url = "https://9.8.7.6" },
    ]`),
		or(s.strategy, `{
      type = "RollingSync"
      rolling_sync = { steps = [
        { match_expressions = [{ key = "env", operator = "In", values = ["dev"] }] },
        { match_expressions = [{ key = "env", operator = "NotIn", values = ["dev"] }], max_update = 1 },
      ] }
    }`),
		or(s.metadata, `{ name = "{{.cluster}}-guestbook", labels = { env = "{{.env}}" } }`),
		or(s.template, `{
        project     = "default"
        source      = { repo_url = "https://example.com/repo.git", target_revision = "1111111111111111111111111111111111111111", path = "guestbook" }
        destination = { server = "{{.url}}", namespace = "guestbook" }
      }`),
		s.options)
}

const (
	devStep  = "step 01: env in [dev]"
	restStep = "step 02: env notin [dev]"
)

var leafOfSHA = knownvalue.StringRegexp(regexp.MustCompile(`^1111111 #[0-9a-f]{8}$`))

func waveAt(steps ...string) tfjsonpath.Path {
	p := tfjsonpath.New("waves")
	for _, s := range steps {
		p = p.AtMapKey(s)
	}
	return p
}

func planOnly(t *testing.T, config fmt.Stringer, checks ...plancheck.PlanCheck) {
	t.Helper()
	tftest.UnitTest(t, tftest.TestCase{
		ProtoV6ProviderFactories: planProviders,
		Steps: []tftest.TestStep{{
			Config:             config.String(),
			PlanOnly:           true,
			ExpectNonEmptyPlan: true,
			ConfigPlanChecks:   tftest.ConfigPlanChecks{PostApplyPreRefresh: checks},
		}},
	})
}

func TestPlanOfCreateShowsEveryApplicationInItsStep(t *testing.T) {
	planOnly(t, setOf{},
		plancheck.ExpectKnownValue(address, waveAt(devStep, "dev-guestbook"), leafOfSHA),
		plancheck.ExpectKnownValue(address, waveAt(restStep, "qa-guestbook"), leafOfSHA),
		plancheck.ExpectKnownValue(address, waveAt(restStep, "prod-guestbook"), leafOfSHA),
		plancheck.ExpectKnownValue(address, waveAt(), knownvalue.MapSizeExact(2)),
		plancheck.ExpectKnownValue(address, tfjsonpath.New("id"), knownvalue.StringExact("argocd/guestbook")),
		plancheck.ExpectKnownValue(address, tfjsonpath.New("namespace"), knownvalue.StringExact("argocd")),
	)
}

func TestPlanLeavesTheLeafOpenWhereABranchIsNotResolved(t *testing.T) {
	planOnly(t, setOf{template: `{
        project     = "default"
        source      = { repo_url = "https://example.com/repo.git", target_revision = "main", path = "guestbook" }
        destination = { server = "{{.url}}" }
      }`},
		plancheck.ExpectUnknownValue(address, waveAt(devStep, "dev-guestbook")),
		plancheck.ExpectKnownValue(address, waveAt(), knownvalue.MapSizeExact(2)),
	)
}

const later = `
resource "terraform_data" "later" { input = "https://9.8.7.6" }
`

func TestPlanWithAnUnknownURLLeavesOnlyItsLeafOpen(t *testing.T) {
	planOnly(t, setOf{extra: later, elements: `[
      { cluster = "dev",  env = "dev",  url = "https://1.2.3.4" },
      { cluster = "prod", env = "prod", url = terraform_data.later.output },
    ]`},
		plancheck.ExpectKnownValue(address, waveAt(devStep, "dev-guestbook"), leafOfSHA),
		plancheck.ExpectUnknownValue(address, waveAt(restStep, "prod-guestbook")),
	)
}

// withUnknownEnv has an Application whose env is unknown; others are further elements.
func withUnknownEnv(others string) setOf {
	return setOf{extra: later, strategy: `{
      type = "RollingSync"
      rolling_sync = { steps = [
        { match_expressions = [{ key = "tier", operator = "In", values = ["canary"] }] },
        { match_expressions = [{ key = "env", operator = "In", values = ["dev"] }] },
        { match_expressions = [{ key = "env", operator = "In", values = ["prod"] }] },
      ] }
    }`,
		metadata: `{ name = "{{.cluster}}-guestbook", labels = { env = "{{.env}}", tier = "{{.tier}}" } }`,
		elements: `[
      { cluster = "can",  env = "prod", tier = "canary", url = "https://1.2.3.4" },
      { cluster = "dev",  env = "dev",  tier = "none", url = "https://1.2.3.4" },
      { cluster = "prod", env = terraform_data.later.output, tier = "none", url = "https://9.8.7.6" },
    ` + others + `]`}
}

func TestPlanWithAnUnknownLabelLeavesEveryStepOpenThatItCouldMatch(t *testing.T) {
	planOnly(t, withUnknownEnv(`
      { cluster = "live", env = "prod", tier = "none", url = "https://9.8.7.6" },
      { cluster = "lab",  env = "lab",  tier = "none", url = "https://9.8.7.6" },
    `),
		plancheck.ExpectKnownValue(address, waveAt("step 01: tier in [canary]", "can-guestbook"), leafOfSHA),
		plancheck.ExpectUnknownValue(address, waveAt("step 02: env in [dev]")),
		plancheck.ExpectUnknownValue(address, waveAt("step 03: env in [prod]")),
		plancheck.ExpectUnknownValue(address, waveAt("no step")),
	)
}

// Step 3, and the entry of no step, exist only if the unknown label matches nothing else.
func TestPlanWithAnUnknownLabelLeavesAllOpenWhereStepsMayHaveNoApplication(t *testing.T) {
	planOnly(t, withUnknownEnv(""), plancheck.ExpectUnknownValue(address, waveAt()))
}

func TestPlanWithAnUnknownNameLeavesItsStepOpen(t *testing.T) {
	planOnly(t, setOf{extra: later, elements: `[
      { cluster = "dev", env = "dev", url = "https://1.2.3.4" },
      { cluster = terraform_data.later.output, env = "prod", url = "https://9.8.7.6" },
    ]`},
		plancheck.ExpectKnownValue(address, waveAt(devStep, "dev-guestbook"), leafOfSHA),
		plancheck.ExpectUnknownValue(address, waveAt(restStep)),
	)
}

func TestPlanWithUnknownGeneratorsLeavesAllWavesOpen(t *testing.T) {
	planOnly(t, setOf{extra: later, elements: `[for c in [1] : { cluster = "x", env = "dev", url = "y" } if terraform_data.later.output != ""]`},
		plancheck.ExpectUnknownValue(address, waveAt()))
}

func TestPlanWithAnUnknownProviderNamespace(t *testing.T) {
	planOnly(t, raw(strings.Replace(setOf{extra: later}.String(), "provider \"argocdprogressive\" {", "provider \"argocdprogressive\" {\n  namespace = terraform_data.later.output", 1)),
		plancheck.ExpectUnknownValue(address, tfjsonpath.New("namespace")),
		plancheck.ExpectUnknownValue(address, tfjsonpath.New("id")),
		plancheck.ExpectKnownValue(address, waveAt(devStep, "dev-guestbook"), leafOfSHA),
	)
}

type raw string

func (r raw) String() string { return string(r) }

func TestPlanOfAManifestIsThatOfTheSameSpec(t *testing.T) {
	planOnly(t, raw(nowhere+`
resource "argocdprogressive_applicationset" "test" {
  name     = "guestbook"
  manifest = <<-EOT
    apiVersion: argoproj.io/v1alpha1
    kind: ApplicationSet
    metadata:
      name: guestbook
    spec:
      goTemplate: true
      generators:
      - list:
          elements:
          - {cluster: dev, env: dev}
          - {cluster: prod, env: prod}
      strategy:
        type: RollingSync
        rollingSync:
          steps:
          - matchExpressions: [{key: env, operator: In, values: [dev]}]
      template:
        metadata:
          name: '{{.cluster}}-guestbook'
          labels: {env: '{{.env}}'}
        spec:
          project: default
          source: {repoURL: https://example.com/repo.git, targetRevision: "1111111111111111111111111111111111111111", path: guestbook}
          destination: {server: https://1.2.3.4}
  EOT
}`),
		plancheck.ExpectKnownValue(address, waveAt(devStep, "dev-guestbook"), leafOfSHA),
		plancheck.ExpectKnownValue(address, waveAt("no step", "prod-guestbook"), knownvalue.StringRegexp(regexp.MustCompile(`^#[0-9a-f]{8}$`))),
	)
}

func TestTheExampleInTheDocumentationCanBePlanned(t *testing.T) {
	example, err := os.ReadFile("../../examples/resources/argocdprogressive_applicationset/resource.tf")
	if err != nil {
		t.Fatal(err)
	}
	guestbook := "argocdprogressive_applicationset.guestbook"
	planOnly(t, raw(nowhere+string(example)),
		plancheck.ExpectUnknownValue(guestbook, waveAt("step 01: envLabel in [env-dev]", "engineering-dev-guestbook")),
		plancheck.ExpectKnownValue(guestbook, waveAt("step 02: envLabel in [env-qa]", "engineering-qa-guestbook"),
			knownvalue.StringRegexp(regexp.MustCompile(`^#[0-9a-f]{8}$`))),
		plancheck.ExpectUnknownValue(guestbook, waveAt("step 03: envLabel in [env-prod]", "engineering-prod-guestbook")),
	)
}
