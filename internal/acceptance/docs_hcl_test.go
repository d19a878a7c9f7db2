package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blockStart matches what begins a whole block of a configuration, and is no part of a resource.
var blockStart = regexp.MustCompile(`(?m)^(?:resource|data|provider|terraform|variable|output|check|locals|import|removed|moved|module|run) `)

// rootOnly matches blocks that Terraform wants in the root module, and variables, which a module would be given.
var rootOnly = regexp.MustCompile(`(?m)^(?:import|removed|moved|provider|variable) `)

// TestDocsShowConfigurationsThatAreValid takes the blocks of the language "terraform" in the README and in the guides: they
// must be formatted, and valid for the provider. Those of the language "hcl" are for other providers, or not for
// terraform itself, and need to be formatted only. A block that is a part of a resource gets the rest.
func TestDocsShowConfigurationsThatAreValid(t *testing.T) {
	requireAcceptance(t)
	t.Parallel()
	tf := &cli{f: &fixture{T: t}, dir: t.TempDir()}
	shown, modules := t.TempDir(), 0
	var calls strings.Builder
	for _, path := range append(under(t, "docs/guides", ".md"), "README.md", "CONTRIBUTING.md") {
		p := readPage(t, path)
		for _, f := range p.fences(t) {
			if f.lang != "terraform" && f.lang != "hcl" {
				continue
			}
			name := strings.Trim(regexp.MustCompile(`[^a-z]+`).ReplaceAllString(p.path, "_"), "_") + fmt.Sprintf("_line_%d", f.first+1)
			writeTo(t, filepath.Join(shown, name+".tf"), f.text+"\n")
			if f.lang == "hcl" {
				continue
			}
			modules++
			if rootOnly.MatchString(f.text) {
				alone := &cli{f: tf.f, dir: t.TempDir()}
				writeTo(t, filepath.Join(alone.dir, "main.tf"), whole(f.text))
				alone.validate(name)
				continue
			}
			writeTo(t, filepath.Join(tf.dir, name, "main.tf"), whole(f.text))
			fmt.Fprintf(&calls, "module %q {\n  source = %q\n}\n", name, "./"+name)
		}
	}
	writeTo(t, filepath.Join(tf.dir, "main.tf"), calls.String())
	tf.validate("the other blocks")
	tf.dir = shown
	if r := tf.run("fmt", "-check", "-diff", "-recursive"); r.code != 0 {
		t.Errorf("not formatted:\n%s", r.out)
	}
	if modules < 15 {
		t.Errorf("only %d configurations were found", modules)
	}
}

func (c *cli) validate(what string) {
	c.f.Helper()
	for _, command := range []string{"init", "validate"} {
		if r := c.run(command); r.code != 0 {
			c.f.Errorf("%s: terraform %s: exit code %d\n%s", what, command, r.code, r.out)
			return
		}
	}
}

const requiredProviders = `terraform {
  required_providers {
    argocdprogressive = { source = "argocdprogressive/argocdprogressive" }
  }
}
`

// whole makes a configuration out of what a text shows.
func whole(text string) string {
	const template = `template = {
    metadata = { name = "{{default .cluster .name}}" }
    spec = {
      project     = "default"
      source      = { repo_url = "https://example.com/repo.git", path = "." }
      destination = { name = "in-cluster", namespace = "default" }
    }
  }`
	const generators = `generators = [{ list = { elements = [{ name = "dev" }] } }]`
	const resource = "resource \"argocdprogressive_applicationset\" \"shown\" {\n  name = \"shown\"\n  %s\n}\n"
	var attributes string
	switch {
	case blockStart.MatchString(text):
		if strings.Contains(text, "required_providers") {
			return text
		}
		return requiredProviders + text
	case strings.HasPrefix(text, "generators"):
		attributes = "spec = {\n go_template = true\n" + text + "\n" + template + "\n}"
	case strings.HasPrefix(text, "strategy"), strings.HasPrefix(text, "sync_policy"):
		attributes = "spec = {\ngo_template = true\n" + generators + "\n" + text + "\n" + template + "\n}"
	case strings.HasPrefix(text, "rollout"), strings.HasPrefix(text, "timeouts"):
		attributes = "spec = {\ngo_template = true\n" + generators + "\n" + template + "\n}\n" + text
	default:
		attributes = text
	}
	return requiredProviders + fmt.Sprintf(resource, attributes)
}

func writeTo(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
