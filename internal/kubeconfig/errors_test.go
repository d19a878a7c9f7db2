package kubeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestErrorsSayWhatToSet(t *testing.T) {
	certificate, key := pair(t)
	other, _ := pair(t)
	file := write(t, "config", hub)
	noCurrent := write(t, "config", strings.Replace(hub, "current-context: dev\n", "", 1))
	dangling := write(t, "config", strings.Replace(hub, "user: dev-user", "user: nobody", 1))
	missing := filepath.Join(t.TempDir(), "nowhere.yaml")
	host := pointer("https://h")
	v1 := "client.authentication.k8s.io/v1"
	for name, c := range map[string]struct {
		settings Settings
		env      LookupEnv
		want     []string
	}{
		"no configuration at all": {Settings{}, env(),
			[]string{"nothing names a cluster", "config_path", "host", "KUBE_CONFIG_PATH", "KUBECONFIG"}},
		"only a token":                        {Settings{Token: pointer("s3cr3t")}, env(), []string{"nothing names a cluster"}},
		"a missing file":                      {Settings{ConfigPath: &missing}, env(), []string{missing, "does not exist"}},
		"a missing file among several":        {Settings{ConfigPaths: []string{file, missing}}, env(), []string{missing, "does not exist"}},
		"a missing file from the environment": {Settings{}, env("KUBE_CONFIG_PATH", missing), []string{missing, "does not exist"}},
		"a directory":                         {Settings{ConfigPath: pointer(t.TempDir())}, env(), []string{"cannot be read", "is a directory"}},
		"a missing context": {Settings{ConfigPath: &file, ConfigContext: pointer("staging")}, env(),
			[]string{`the context "staging" does not exist`, "it has dev, prod"}},
		"a missing cluster": {Settings{ConfigPath: &file, ConfigContextCluster: pointer("x")}, env(),
			[]string{`the cluster "x" does not exist`, "it has dev-cluster, prod-cluster"}},
		"a missing cluster, although a host is set": {Settings{ConfigPath: &file, Host: host, ConfigContextCluster: pointer("x")}, env(),
			[]string{`the cluster "x" does not exist`}},
		"a missing user": {Settings{ConfigPath: &file, ConfigContextAuthInfo: pointer("x")}, env(),
			[]string{`the user "x" does not exist`, "it has dev-user, prod-user"}},
		"a context with a dangling user": {Settings{ConfigPath: &dangling}, env(), []string{`the user "nobody" does not exist`}},
		"no current context":             {Settings{ConfigPath: &noCurrent}, env(), []string{"no current-context", "config_context", "it has dev, prod"}},
		"an empty file":                  {Settings{ConfigPath: pointer(write(t, "config", ""))}, env(), []string{"no current-context", "it has none"}},
		"a context without a file":       {Settings{Host: host, ConfigContext: pointer("prod")}, env(), []string{"config_context", "config_path"}},
		"a context cluster without a file": {Settings{ConfigContextCluster: pointer("prod")}, env(),
			[]string{"config_context_cluster", "config_path"}},
		"a context user without a file": {Settings{ConfigContextAuthInfo: pointer("prod")}, env(),
			[]string{"config_context_auth_info", "config_path"}},
		"config_path and config_paths": {Settings{ConfigPath: &file, ConfigPaths: []string{file}}, env(), []string{"config_path and config_paths"}},
		"token and username":           {Settings{Host: host, Token: pointer("a"), Username: pointer("b")}, env(), []string{"token", "username"}},
		"token and username, both from the environment": {Settings{Host: host}, env("KUBE_TOKEN", "a", "KUBE_USER", "b"),
			[]string{"KUBE_TOKEN", "KUBE_USER"}},
		"password without username":      {Settings{Host: host, Password: pointer("a")}, env(), []string{"password", "username"}},
		"certificate without key":        {Settings{Host: host, ClientCertificate: &certificate}, env(), []string{"client_certificate", "client_key"}},
		"key without certificate":        {Settings{Host: host, ClientKey: &key}, env(), []string{"client_certificate", "client_key"}},
		"the key of another":             {Settings{Host: host, ClientCertificate: &other, ClientKey: &key}, env(), []string{"no usable pair", "does not match"}},
		"a CA in base64, not PEM":        {Settings{Host: host, ClusterCACertificate: pointer("LS0tLS1CRUdJTg==")}, env(), []string{"cluster_ca_certificate", "base64decode"}},
		"insecure and a CA":              {Settings{Host: host, Insecure: pointer(true), ClusterCACertificate: &certificate}, env(), []string{"insecure", "cluster_ca_certificate"}},
		"insecure that is no bool":       {Settings{Host: host}, env("KUBE_INSECURE", "yes please"), []string{"KUBE_INSECURE", "true or false"}},
		"exec without a command":         {Settings{Host: host, Exec: &Exec{APIVersion: v1}}, env(), []string{"exec has no command"}},
		"exec without a version":         {Settings{Host: host, Exec: &Exec{Command: "aws"}}, env(), []string{"exec has no api_version"}},
		"a host that is no address":      {Settings{Host: pointer("https://")}, env(), []string{"host (KUBE_HOST)"}},
		"a host with control characters": {Settings{Host: pointer("https://h\x7f")}, env(), []string{"host (KUBE_HOST)"}},
		"a proxy of another scheme":      {Settings{Host: host, ProxyURL: pointer("ftp://p:21")}, env(), []string{"proxy_url"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(c.settings, c.env)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in the error: %v", want, err)
				}
			}
		})
	}
}

func TestErrorsContainNoSecret(t *testing.T) {
	const secret = "s3cr3t-v4lue"
	host := pointer("https://h")
	certificate, _ := pair(t)
	in := func(content string) Settings { return Settings{ConfigPath: pointer(write(t, "config", content))} }
	for name, c := range map[string]struct {
		settings Settings
		env      LookupEnv
	}{
		"token and username":              {Settings{Host: host, Token: pointer(secret), Username: pointer("u")}, env()},
		"token from the environment":      {Settings{Host: host}, env("KUBE_TOKEN", secret, "KUBE_USER", "u")},
		"a password alone":                {Settings{Host: host, Password: pointer(secret)}, env()},
		"a key that is no PEM":            {Settings{Host: host, ClientCertificate: &certificate, ClientKey: pointer(secret)}, env()},
		"a proxy with a password":         {Settings{Host: host, ProxyURL: pointer("ftp://u:" + secret + "@p")}, env()},
		"a host with a password":          {Settings{Host: pointer("https://u:" + secret + "@h:bad port")}, env()},
		"an exec environment":             {Settings{Host: host, Exec: &Exec{Env: map[string]string{"A": secret}}}, env()},
		"a file that is only a token":     {in(secret), env()},
		"a file whose token is an alias":  {in(strings.Replace(hub, "dev-file-token", "*"+secret, 1)), env()},
		"a file whose token is a list":    {in(strings.Replace(hub, "dev-file-token", "["+secret+"]", 1)), env()},
		"a file with a key of bad base64": {in(strings.Replace(hub, "token: dev-file-token", "client-key-data: '"+secret+"!'", 1)), env()},
		"a file with a broken line":       {in(hub + "token: \"" + secret + "\n"), env()},
		"a file with a bad proxy":         {in(strings.Replace(hub, "insecure-skip-tls-verify: true", `proxy-url: "ftp://u:`+secret+`@p"`, 1)), env()},
		"a file with exec and no version": {in(strings.Replace(hub, "token: dev-file-token", "exec: {command: c, env: [{name: A, value: "+secret+"}]}", 1)), env()},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(c.settings, c.env)
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error contains the secret: %v", err)
			}
		})
	}
}

func TestABrokenFileIsNamedWithItsLine(t *testing.T) {
	path := write(t, "config", hub+"\t- broken\n")
	_, err := load(Settings{ConfigPath: &path}, env())
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "(line ") {
		t.Errorf("got %v, want the file and the line", err)
	}
}

func TestUnauthorizedIsExplained(t *testing.T) {
	denied := apierrors.NewUnauthorized("token expired")
	for name, c := range map[string]struct {
		settings Settings
		err      error
		want     []string
	}{
		"a fixed token leads to exec":      {Settings{Token: pointer("s3cr3t")}, denied, []string{"exec", "terraform apply", "continues"}},
		"exec itself leads to its command": {Settings{Exec: &Exec{Command: "aws"}}, denied, []string{`"aws"`, "terraform apply", "continues"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ExplainUnauthorized(c.settings, c.err)
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in %q", want, got)
				}
			}
			if strings.Contains(got, "s3cr3t") {
				t.Error("the text contains the token")
			}
		})
	}
	for name, err := range map[string]error{
		"no error":   nil,
		"not found":  apierrors.NewNotFound(schema.GroupResource{Resource: "applications"}, "a"),
		"other text": os.ErrDeadlineExceeded,
	} {
		t.Run(name+" needs no explanation", func(t *testing.T) {
			if got := ExplainUnauthorized(Settings{}, err); got != "" {
				t.Errorf("got %q", got)
			}
		})
	}
}
