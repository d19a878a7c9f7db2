//go:build unix

package acceptance

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// canaries are secrets that nothing may repeat: where they are planted -> the secret.
type canaries struct {
	w     *workspace
	known map[string]string
	// looked are the places that were searched, and sizes how much there was.
	looked map[string]int
}

// newCanaries makes Terraform run the provider as a program, with the provider's log of everything in trace.log and env as more of
// the environment.
func newCanaries(w *workspace, env ...string) *canaries {
	w.Helper()
	w.useBinary(buildProvider(w.T))
	w.cli.env = append([]string{"TF_LOG_PROVIDER=TRACE", "TF_LOG_PATH=" + filepath.Join(w.cli.dir, "trace.log")}, env...)
	return &canaries{w: w, known: map[string]string{}, looked: map[string]int{}}
}

// run runs a terraform command, which must end with that code, and searches what it prints.
func (c *canaries) run(code int, args ...string) result {
	c.w.Helper()
	r := c.w.startBinary(args...).wait()
	if r.code != code {
		c.w.Fatalf("terraform %v: exit code %d, not %d\n%s", args, r.code, code, r.out)
	}
	c.absent("the output of "+args[0], []byte(r.out))
	return r
}

// searched fails unless there was as much in each of these places as a search that has seen something needs.
func (c *canaries) searched(leasts map[string]int) {
	c.w.Helper()
	for where, least := range leasts {
		if c.looked[where] < least {
			c.w.Errorf("of %s, %d bytes were searched, fewer than %d: %v", where, c.looked[where], least, slices.Sorted(maps.Keys(c.looked)))
		}
	}
}

// plant makes a new secret.
func (c *canaries) plant(place string) string {
	c.known[place] = fmt.Sprintf("canary-%02d-%s", len(c.known), c.w.name)
	return c.known[place]
}

// secret creates a Secret of Argo CD with these values.
func (c *canaries) secret(suffix, kind string, values obj) {
	c.w.Helper()
	c.w.create(secrets, argoNamespace, map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"name": c.w.name + "-" + suffix, "labels": map[string]any{"argocd.argoproj.io/secret-type": kind}},
		"stringData": map[string]any(values),
	})
}

// forms are what a secret looks like as it is and in base64, wherever in a longer text it begins.
func forms(secret string) []string {
	out := []string{secret}
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
		// The first and the last characters depend on what is beside the secret.
		out = append(out, encoded[4:len(encoded)-4])
	}
	return out
}

// absent fails if text, or what is packed in it, has a secret.
func (c *canaries) absent(where string, text []byte) {
	c.w.Helper()
	c.looked[where] += len(text)
	for _, place := range slices.Sorted(maps.Keys(c.known)) {
		for _, form := range forms(c.known[place]) {
			if at := bytes.Index(text, []byte(form)); at >= 0 {
				c.w.Errorf("the secret of %s is in %s: ...%s...", place, where, text[max(0, at-200):min(len(text), at+len(form)+50)])
				break
			}
		}
	}
	c.unpack(where, text)
}

// unpack looks into what text encodes: zip (plan files), gzip (records), and base64 in JSON (private state).
func (c *canaries) unpack(where string, text []byte) {
	c.w.Helper()
	if archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text))); err == nil {
		for _, file := range archive.File {
			content, err := file.Open()
			if err != nil {
				c.w.Fatal(err)
			}
			c.absent(where+" "+file.Name, c.all(content))
		}
		return
	}
	if reader, err := gzip.NewReader(bytes.NewReader(text)); err == nil {
		c.absent(where+" unzipped", c.all(reader))
		return
	}
	var value any
	if json.Unmarshal(text, &value) == nil {
		c.decode(where, value)
	}
}

func (c *canaries) all(r io.Reader) []byte {
	c.w.Helper()
	content, err := io.ReadAll(r)
	if err != nil {
		c.w.Fatal(err)
	}
	return content
}

func (c *canaries) decode(where string, value any) {
	c.w.Helper()
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			c.decode(where+"."+key, v)
		}
	case []any:
		for _, v := range value {
			c.decode(where, v)
		}
	case string:
		if decoded, err := base64.StdEncoding.DecodeString(value); err == nil && len(decoded) > 8 {
			c.absent(where+" decoded", decoded)
		} else if strings.HasPrefix(value, "{") {
			c.unpack(where, []byte(value))
		}
	}
}

// absentFromDirectory searches the files of the working directory, but for those in which the secrets are given.
func (c *canaries) absentFromDirectory() {
	c.w.Helper()
	err := filepath.WalkDir(c.w.cli.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), "given-") {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil {
			c.absent(entry.Name(), content)
		}
		return err
	})
	if err != nil {
		c.w.Fatal(err)
	}
}

// absentFromCluster searches what the provider keeps and writes there.
func (c *canaries) absentFromCluster() {
	c.w.Helper()
	for _, resource := range []schema.GroupVersionResource{applications, configMaps, leases} {
		list, err := c.w.client.Resource(resource).Namespace(argoNamespace).List(c.w.ctx(), metav1.ListOptions{LabelSelector: "argocdprogressive.io/set"})
		if err != nil {
			c.w.Fatal(err)
		}
		for _, o := range list.Items {
			text, err := o.MarshalJSON()
			if err != nil {
				c.w.Fatal(err)
			}
			if strings.Contains(string(text), c.w.name) {
				c.absent(resource.Resource, text)
			}
		}
	}
}

// given writes a file that holds a secret, and is an expression for its content.
func (c *canaries) given(name, content string) raw {
	c.w.Helper()
	if err := os.WriteFile(filepath.Join(c.w.cli.dir, "given-"+name), []byte(content), 0o600); err != nil {
		c.w.Fatal(err)
	}
	return raw(fmt.Sprintf(`trimspace(file("given-%s"))`, name))
}

// TestAccSecretsAreNeverRepeated plants secrets wherever the provider comes by them, and searches
// everything that Terraform and the provider print and store, with all logs on. The configuration
// takes its secrets from files, for Terraform itself keeps the text of the configuration in a plan.
func TestAccSecretsAreNeverRepeated(t *testing.T) {
	f := newFixture(t)
	w, s := f.workspace(), f.threeSteps()
	c := newCanaries(w, "TF_LOG=TRACE", "ARGOCDPROGRESSIVE_PROGRESS=progress.log", "ARGOCDPROGRESSIVE_PROGRESS_FORMAT=json")

	c.secret("cluster", "cluster", obj{
		"name": c.plant("a cluster's name"), "server": "https://127.0.0.1:1/" + c.plant("a cluster's address"),
		"config": fmt.Sprintf(`{"bearerToken":%q,"username":%q,"password":%q,"tlsClientConfig":{"insecure":true,"keyData":%q}}`,
			c.plant("a cluster's token"), c.plant("a cluster's user"), c.plant("a cluster's password"),
			base64.StdEncoding.EncodeToString([]byte(c.plant("a cluster's key")))),
	})
	for _, kind := range []string{"repository", "repo-creds"} {
		c.secret(kind, kind, obj{
			"type": "git", "url": "https://git.invalid/" + kind, "username": "git",
			"password": c.plant("the password of a " + kind), "sshPrivateKey": c.plant("the key of a " + kind),
		})
	}
	config := f.account().config(f.cluster)
	if err := rest.LoadTLSFiles(config); err != nil {
		t.Fatal(err)
	}
	c.known["the provider's token"] = config.BearerToken
	connection := func(credentials obj) obj {
		kubernetes := obj{"host": config.Host}
		if len(config.CAData) > 0 {
			kubernetes["cluster_ca_certificate"] = string(config.CAData)
		} else {
			kubernetes["insecure"] = config.Insecure
		}
		maps.Copy(kubernetes, credentials)
		return obj{"kubernetes": kubernetes}
	}
	token := c.given("token", config.BearerToken)
	env := obj{"TOKEN": token, "MORE": c.given("env", c.plant("the environment of exec"))}
	exec := func(script string) obj {
		return obj{"exec": obj{"api_version": "client.authentication.k8s.io/v1", "command": "sh", "args": []string{"-c", script}, "env": env}}
	}
	working := exec(`printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$TOKEN"`)

	f.release("1", "dev", "staging", "prod")
	s.Provider = connection(working)
	w.configure(s)
	c.run(exitEmpty, "plan", "-out=plan.bin")
	c.run(exitEmpty, "show", "-json", "plan.bin")
	c.run(exitEmpty, "apply", "plan.bin")
	c.absentFromCluster()

	// A rollout that fails, with the token itself in the configuration.
	s.Provider = connection(obj{"token": token})
	w.configure(s)
	f.removeFolders("staging")
	f.release("2", "dev", "prod")
	w.says(c.run(exitFailed, "apply", "-auto-approve"), "failed", "app path does not exist", "Not done (2)")
	c.absentFromCluster()
	c.absentFromDirectory()

	// Credentials that are refused, and others that cannot be used.
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte(c.plant("a client key"))})
	for name, credentials := range map[string]obj{
		"password": {"username": "u", "password": c.given("password", c.plant("a password"))},
		"token":    {"token": c.given("wrong", c.plant("a wrong token"))},
		"key":      {"client_certificate": string(config.CAData), "client_key": c.given("key", string(key))},
		"exec":     exec("exit 3"),
		"printed":  exec(`echo "$MORE"`),
	} {
		s.Provider = connection(credentials)
		w.configure(s)
		if r := c.run(exitFailed, "plan"); !strings.Contains(r.out, "Error: ") {
			t.Errorf("%s: no error in\n%s", name, r.out)
		}
	}

	s.Provider = connection(working)
	w.configure(s)
	c.run(exitEmpty, "destroy", "-auto-approve")
	c.absentFromDirectory()
	w.logsProgress("trace.log")

	c.searched(map[string]int{
		"the output of plan": 1000, "the output of show": 1000, "the output of apply": 1000, "the output of destroy": 500,
		"trace.log": 100_000, "progress.log": 2000, "terraform.tfstate.backup": 1000, "plan.bin tfplan": 500, "plan.bin tfstate": 100,
		"applications": 3000, "configmaps": 500, "configmaps.binaryData.payload decoded unzipped": 500, "leases": 200,
	})
}

// logsProgress fails unless a log of Terraform's has the progress of the three steps at level INFO, with step and counts.
func (w *workspace) logsProgress(name string) {
	w.Helper()
	log, err := os.ReadFile(filepath.Join(w.cli.dir, name))
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(log)) {
		if !strings.Contains(line, "rollout progress") {
			continue
		}
		lines = append(lines, strings.TrimSpace(line)+" ") // its fields have no order
		if !strings.Contains(line, " [INFO] ") {
			w.Errorf("a line about progress is not at level INFO: %s", line)
		}
	}
	for i, env := range []string{"dev", "staging", "prod"} {
		wanted := []string{
			"application=" + w.app(env) + " ", fmt.Sprintf("done=%d ", i+1), "status=Healthy ", fmt.Sprintf("step=%q ", stepOf(fmt.Sprintf("%02d", i+1), env)),
			fmt.Sprintf("step_number=%d ", i+1), "steps=3 ", "total=3 ",
		}
		if !slices.ContainsFunc(lines, func(line string) bool {
			return !slices.ContainsFunc(wanted, func(field string) bool { return !strings.Contains(line, field) })
		}) {
			w.Errorf("no line has %q:\n%s", wanted, strings.Join(lines, "\n"))
		}
	}
}

// TestAccCredentialsInRepositoryURLsAreNotPrinted: a password in the URL of a repository is refused. What else
// stands there is a part of the configuration and of the Application, so Terraform and Argo CD store it; errors,
// logs and progress do not repeat it.
func TestAccCredentialsInRepositoryURLsAreNotPrinted(t *testing.T) {
	f := newFixture(t)
	w, s := f.workspace(), f.newSet([]string{"dev"}, "dev")
	c := newCanaries(w, "ARGOCDPROGRESSIVE_PROGRESS=progress.log") // Terraform's own log has the configuration
	s.Rollout = quick()
	from := func(credentials string) {
		s.Source = obj{"repo_url": "https://" + credentials + "@127.0.0.1:1/deployments", "target_revision": "main", "path": "x"}
		w.configure(s)
	}
	from(c.plant("a user with a password") + ":" + c.plant("the password of a URL"))
	w.says(c.run(exitFailed, "plan"), "Credentials in a URL", "https://127.0.0.1:1/deployments")

	// A token that stands there as the user cannot be told from a user.
	from(c.plant("the user of a URL"))
	w.says(w.startBinary("plan", "-out=plan.bin").wait(), "will be created")
	w.says(c.run(exitFailed, "apply", "plan.bin"), f.app("dev"), "127.0.0.1:1/deployments")
	for name, least := range map[string]int{"trace.log": 10_000, "progress.log": 500} {
		log, err := os.ReadFile(filepath.Join(w.cli.dir, name))
		if err != nil || len(log) < least {
			t.Fatalf("%s has %d bytes: %v", name, len(log), err)
		}
		c.absent(name, log)
	}
}

// TestCanariesAreFoundInEveryForm proves that the search of TestAccSecretsAreNeverRepeated finds a secret in
// every form.
func TestCanariesAreFoundInEveryForm(t *testing.T) {
	const secret = "canary-00-t123456"
	for i, text := range []string{
		secret, "a" + secret + "b",
		base64.StdEncoding.EncodeToString([]byte(secret + "more")),
		base64.StdEncoding.EncodeToString([]byte("x" + secret + "more")),
		base64.StdEncoding.EncodeToString([]byte("xy" + secret + "more")),
		base64.StdEncoding.EncodeToString([]byte(`{"long": "` + secret + `", "more": 1}`)),
	} {
		found := slices.ContainsFunc(forms(secret), func(form string) bool { return strings.Contains(text, form) })
		if !found {
			t.Errorf("%d: not found in %q", i, text)
		}
	}
}
