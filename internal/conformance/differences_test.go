package conformance

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// difference is a reason for which this provider deliberately fails where Argo CD renders, or, if
// it accepts, renders where Argo CD fails.
type difference struct {
	// name is that of the heading in the guide, and of the verdict in a case.
	name string
	// reason is why nobody can want what Argo CD does.
	reason string
	// seen recognises it by what Argo CD was given, did or rendered; our error does not count.
	seen func(*comparison) bool
	// summaries are those of the errors with which we refuse it.
	summaries []string
	// accepts: it is Argo CD that fails. A case in two files shows what is meant.
	accepts bool
}

// differences is the whole table: where no row matches, both render the same, or both fail.
var differences = []difference{
	{
		name:   "Text that is left in place",
		reason: "A parameter that does not exist, or is not a string, leaves its tag in the Application: {{url}} becomes part of a URL.",
		seen: func(c *comparison) bool {
			return anyText(c.rendered(), holds("{{")) || anyText(c.between(), holds("{{")) || c.asked(holds("{{")) || c.selectorHolds("{{")
		},
		summaries: []string{appset.SummaryLeftover, appset.SummaryGeneratorFailed},
	},
	{
		name:   "No value",
		reason: "Without missingkey=error a missing key prints <no value> into the Application.",
		seen: func(c *comparison) bool {
			return anyText(c.rendered(), holds("<no value>")) || anyText(c.between(), holds("<no value>")) || anyText(asTree(c.oracle.questions), holds("<no value>"))
		},
		summaries: []string{appset.SummaryLeftover, appset.SummaryRenderFailed, appset.SummaryGeneratorFailed},
	},
	{
		name:   "Element without parameters",
		reason: "An empty parameter set is not rendered at all: the template itself is created as an Application, tags and all, without a finalizer.",
		seen: func(c *comparison) bool {
			return slices.ContainsFunc(append(slices.Clone(c.oracle.params), c.oracle.seen.between...), func(p map[string]any) bool { return len(p) == 0 })
		},
		summaries: []string{appset.SummaryInvalidElement, appset.SummaryLeftover, appset.SummaryGeneratorFailed},
	},
	{
		name:   "Empty name",
		reason: "Argo CD leaves out an Application without a name and only sets a condition.",
		seen: func(c *comparison) bool {
			return c.template("metadata", "name") == nil || c.anyName(func(n string) bool { return n == "" })
		},
		summaries: []string{appset.SummaryInvalidName, appset.SummaryMissingField},
	},
	{
		name:   "Impossible name",
		reason: "The API server refuses a name that is not a DNS name, label tracking one of more than 63 characters, and Helm a release of more than 53: each only at apply, or at sync.",
		seen: func(c *comparison) bool {
			return c.anyName(impossibleName) || slices.ContainsFunc(c.oracle.apps, longRelease)
		},
		summaries: []string{appset.SummaryInvalidName, appset.SummaryInvalidSpec},
	},
	{
		name:   "Duplicate name",
		reason: "Argo CD leaves out all Applications of that name and goes on with the others.",
		seen: func(c *comparison) bool {
			names := namesOf(c.oracle.apps)
			return len(slices.Compact(slices.Clone(names))) < len(names)
		},
		summaries: []string{appset.SummaryDuplicateName},
	},
	{
		name:      "Impossible label or annotation",
		reason:    "The API server refuses it when the Application is written; some annotations are requests that Argo CD removes, or stop it from syncing; argocdprogressive.io/ is the provider's own.",
		seen:      func(c *comparison) bool { return slices.ContainsFunc(c.oracle.apps, impossibleMetadata) },
		summaries: []string{appset.SummaryInvalidMetadata},
	},
	{
		name:      "Application that cannot be deployed",
		reason:    "A destination with no cluster or two, no source or both source and sources, a source without content: Argo CD creates the Application, which then never syncs.",
		seen:      func(c *comparison) bool { return slices.ContainsFunc(c.oracle.apps, undeployable) },
		summaries: []string{appset.SummaryInvalidSpec, appset.SummaryMissingField},
	},
	{
		name:   "Clusters of one name",
		reason: "Of several cluster Secrets with the same name Argo CD takes one at random.",
		seen: func(c *comparison) bool {
			seen := map[string]bool{}
			for _, secret := range c.world.clusters() {
				name := string(secret.Data["name"])
				if seen[name] {
					return c.uses("clusters") || c.uses("clusterDecisionResource")
				}
				seen[name] = true
			}
			return false
		},
		summaries: []string{appset.SummaryGeneratorFailed},
	},
	{
		name:   "Functions with another result each time",
		reason: "What now, randAlpha, uuidv4 or genCA render is never the same, so that no plan would ever be empty.",
		seen: func(c *comparison) bool {
			return anyText(c.manifest["spec"], unstableFunction.MatchString) || anyText(c.between(), unstableFunction.MatchString)
		},
		summaries: []string{appset.SummaryInvalidTemplate, appset.SummaryRenderFailed, appset.SummaryGeneratorFailed},
	},
	{
		name:   "Hydrators in steps",
		reason: "sourceHydrator works in its own time, so that a step cannot tell when it is done.",
		seen: func(c *comparison) bool {
			return anyText(c.manifest["spec"], func(s string) bool { return s == "sourceHydrator" }) &&
				anyText(c.manifest["spec"], func(s string) bool { return s == "RollingSync" })
		},
		summaries: []string{appset.SummaryUnsupportedField},
	},
	{
		name:      "Unknown fields",
		reason:    "The API server drops a field that it does not know, mostly a spelling mistake, without an error.",
		seen:      func(c *comparison) bool { return len(c.oracle.dropped) > 0 },
		summaries: []string{appset.SummaryUnknownField, appset.SummaryUnsupportedField},
	},
	{
		name:      "Keys that become the same",
		reason:    "When two templated keys of a map render to the same text, Argo CD keeps one of them at random.",
		seen:      func(c *comparison) bool { return c.keysCollide() },
		summaries: []string{appset.SummaryRenderFailed},
	},
	{
		name:      "Templates that nothing renders yet",
		reason:    "Argo CD does not look at a template until there is an element; a mistake in it shows only then.",
		seen:      func(c *comparison) bool { return anyText(c.manifest["spec"], c.cannotBeParsed) },
		summaries: []string{appset.SummaryInvalidTemplate},
	},
	{
		name:   "Options that do not exist",
		reason: "Argo CD does not look at goTemplateOptions until it renders a Go template.",
		seen: func(c *comparison) bool {
			return slices.ContainsFunc(c.oracle.set.Spec.GoTemplateOptions, func(o string) bool {
				return !slices.Contains([]string{"missingkey=error", "missingkey=default", "missingkey=zero", "missingkey=invalid"}, o)
			})
		},
		summaries: []string{appset.SummaryInvalidTemplate},
	},
	{
		name:   "Entries without a generator",
		reason: "Argo CD logs a warning about an entry that holds no generator and goes on without it.",
		seen: func(c *comparison) bool {
			return slices.ContainsFunc(c.oracle.set.Spec.Generators, func(g v1alpha1.ApplicationSetGenerator) bool {
				g.Selector = nil
				return string(mustJSON(g)) == "{}" || g.List != nil && g.List.Elements == nil && g.List.ElementsYaml == ""
			})
		},
		summaries: []string{appset.SummaryMissingField},
	},
	{
		name:   "Patterns that cannot match",
		reason: "A directory pattern with a mistake in it matches nothing in Argo CD, which only logs it.",
		seen: func(c *comparison) bool {
			return slices.ContainsFunc(c.oracle.questions, func(g *v1alpha1.ApplicationSetGenerator) bool {
				return slices.ContainsFunc(directoryPatterns(g), func(pattern string) bool {
					_, err := path.Match(pattern, "")
					return err != nil
				})
			})
		},
		summaries: []string{appset.SummaryGeneratorFailed, appset.SummaryInvalidElement, appset.SummaryInvalidGenerator},
	},
	{
		name:   "Directories and files in one generator",
		reason: "Argo CD ignores files where directories are given, and logs a warning.",
		seen: func(c *comparison) bool {
			return slices.ContainsFunc(c.oracle.questions, func(g *v1alpha1.ApplicationSetGenerator) bool {
				return len(directoryPatterns(g)) > 0 && (g.Git != nil && len(g.Git.Files) > 0 || g.Oci != nil && len(g.Oci.Files) > 0)
			})
		},
		summaries: []string{appset.SummaryInvalidGenerator},
	},
	{
		name:   "Magic words of git",
		reason: "A file pattern that starts with a colon is an instruction to the git command, such as :(exclude), and no pattern.",
		seen: func(c *comparison) bool {
			return slices.ContainsFunc(c.oracle.questions, func(g *v1alpha1.ApplicationSetGenerator) bool {
				return g.Git != nil && slices.ContainsFunc(g.Git.Files, func(f v1alpha1.GitFileGeneratorItem) bool { return strings.HasPrefix(f.Path, ":") })
			})
		},
		summaries: []string{appset.SummaryInvalidGenerator},
	},
	{
		name:      "Templates of nested generators",
		reason:    "Argo CD ignores the template of a generator inside of matrix and merge.",
		seen:      func(c *comparison) bool { return c.nestedTemplate() },
		summaries: []string{appset.SummaryUnsupportedField},
	},
	{
		name:   "Decisions without a match key",
		reason: "Argo CD finds no cluster then, and would delete every Application.",
		seen: func(c *comparison) bool {
			return slices.ContainsFunc(c.oracle.questions, func(g *v1alpha1.ApplicationSetGenerator) bool {
				return g.ClusterDecisionResource != nil && slices.ContainsFunc(c.world.configMaps, func(m corev1.ConfigMap) bool {
					return m.Name == g.ClusterDecisionResource.ConfigMapRef && m.Data["matchKey"] == ""
				})
			})
		},
		summaries: []string{appset.SummaryGeneratorFailed},
	},
	{
		name:      "Labels without a value",
		reason:    "A label that is null in matchLabels is dropped, or becomes an empty text: the selector asks for something else, mostly for every cluster.",
		seen:      func(c *comparison) bool { return nullLabel(c.manifest["spec"]) },
		summaries: []string{appset.SummaryWrongType},
	},
	{
		name:   "Templates that are too large",
		reason: "A template that fills the memory of the machine that plans is stopped: etcd keeps no object above 1.5 MiB anyway.",
		seen: func(c *comparison) bool {
			return anyText(c.rendered(), func(s string) bool { return len(s) > 1<<20 }) || anyText(c.manifest["spec"], countsFar.MatchString)
		},
		summaries: []string{appset.SummaryRenderFailed},
	},
	{
		name:   "Templates of numbers and booleans",
		reason: "A template may stand where a number or a boolean is wanted; what it renders to is read as one.",
		seen: func(c *comparison) bool {
			return slices.ContainsFunc(c.oracle.refused, func(why string) bool {
				return strings.HasSuffix(why, "must be of type boolean, but is string") || strings.HasSuffix(why, "must be of type integer, but is string")
			})
		},
		accepts: true,
	},
	{
		name:   "Parts of a generator's template",
		reason: "What the template of a generator does not change, it need not name; the CustomResourceDefinition wants metadata, project and destination.",
		seen: func(c *comparison) bool {
			return slices.ContainsFunc(c.oracle.refused, partOfGeneratorTemplate.MatchString)
		},
		accepts: true,
	},
	{
		name:   "Template without a project",
		reason: "A template without spec.project means the project default, as an Application without one does.",
		seen: func(c *comparison) bool {
			return slices.Equal(c.oracle.refused, []string{"spec.template.spec.project is required"})
		},
		accepts: true,
	},
	{
		name:   "Keys in snake case",
		reason: "The keys of generators may be written as HCL wants them, repo_url for repoURL.",
		seen: func(c *comparison) bool {
			return slices.ContainsFunc(c.oracle.dropped, func(field string) bool { return snakeCase.MatchString(field) })
		},
		accepts: true,
	},
	{
		name:   "Git without a revision",
		reason: "A generator without a revision means HEAD.",
		seen: func(c *comparison) bool {
			return slices.ContainsFunc(c.oracle.refused, func(why string) bool { return strings.HasSuffix(why, ".git.revision is required") })
		},
		accepts: true,
	},
	{
		name:   "Decisions by name inside of a matrix",
		reason: "As the second generator of a matrix, Argo CD takes an empty label selector for a given one, and refuses the name beside it.",
		seen: func(c *comparison) bool {
			return strings.Contains(c.oracle.err.Error(), "problem with the definition of the ClusterDecisionResource generator") &&
				slices.ContainsFunc(c.oracle.questions, func(g *v1alpha1.ApplicationSetGenerator) bool {
					d := g.ClusterDecisionResource
					return d != nil && d.Name != "" && len(d.LabelSelector.MatchLabels) == 0 && len(d.LabelSelector.MatchExpressions) == 0
				})
		},
		accepts: true,
	},
}

// String is for messages.
func (d difference) String() string { return fmt.Sprintf("%s: %s", d.name, d.reason) }
