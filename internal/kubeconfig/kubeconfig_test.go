package kubeconfig

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestEveryStringAttributeReachesTheClient(t *testing.T) {
	for _, c := range everySetting(t) {
		t.Run(c.attribute, func(t *testing.T) {
			s := c.base
			*c.field(&s) = &c.value
			if got := c.got(mustLoad(t, s, env())); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEveryVariableFillsItsAttribute(t *testing.T) {
	for _, c := range everySetting(t) {
		t.Run(c.variable, func(t *testing.T) {
			if got := c.got(mustLoad(t, c.base, env(c.variable, c.value))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAnExplicitAttributeBeatsItsVariable(t *testing.T) {
	for _, c := range everySetting(t) {
		t.Run(c.attribute, func(t *testing.T) {
			s := c.base
			*c.field(&s) = &c.value
			if got := c.got(mustLoad(t, s, env(c.variable, "from-environment"))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAnExplicitlyEmptyAttributeKeepsItsVariableOut(t *testing.T) {
	for _, c := range everySetting(t) {
		t.Run(c.attribute, func(t *testing.T) {
			s := c.base
			*c.field(&s) = pointer("")
			cfg, err := load(s, env(c.variable, c.value))
			if err == nil && c.got(cfg) == c.want {
				t.Errorf("the value of %s was used", c.variable)
			}
		})
	}
}

func TestAnEmptyVariableCountsAsAbsent(t *testing.T) {
	_, err := load(Settings{}, env("KUBE_HOST", "", "KUBE_CONFIG_PATH", "", "KUBE_CONFIG_PATHS", "", "KUBE_INSECURE", ""))
	if err == nil || !strings.Contains(err.Error(), "nothing names a cluster") {
		t.Errorf("got %v", err)
	}
}

func TestInsecure(t *testing.T) {
	certificate, _ := pair(t)
	withCA := strings.Replace(hub, "insecure-skip-tls-verify: true",
		"certificate-authority-data: "+base64.StdEncoding.EncodeToString([]byte(certificate)), 1)
	host := pointer("https://api.example.com")
	for name, c := range map[string]struct {
		settings Settings
		variable string
		want     bool
	}{
		"is off by default":                            {Settings{Host: host}, "", false},
		"comes from the attribute":                     {Settings{Host: host, Insecure: pointer(true)}, "", true},
		"comes from the variable":                      {Settings{Host: host}, "true", true},
		"comes from the variable, written as 1":        {Settings{Host: host}, "1", true},
		"false beats the variable":                     {Settings{Host: host, Insecure: pointer(false)}, "true", false},
		"comes from the file":                          {Settings{ConfigPath: pointer(write(t, "c", hub))}, "", true},
		"false beats the file":                         {Settings{ConfigPath: pointer(write(t, "c", hub)), Insecure: pointer(false)}, "", false},
		"true beats a CA in the file":                  {Settings{ConfigPath: pointer(write(t, "c", withCA)), Insecure: pointer(true)}, "", true},
		"an explicit CA beats insecure in the file":    {Settings{ConfigPath: pointer(write(t, "c", hub)), ClusterCACertificate: &certificate}, "", false},
		"an explicit CA silences the variable as well": {Settings{Host: host, ClusterCACertificate: &certificate}, "true", false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoad(t, c.settings, env("KUBE_INSECURE", c.variable))
			if cfg.Insecure != c.want {
				t.Errorf("Insecure = %v, want %v", cfg.Insecure, c.want)
			}
			if _, err := rest.TLSConfigFor(cfg); err != nil {
				t.Errorf("client-go refuses the configuration: %v", err)
			}
		})
	}
}

func TestHostIsCompletedToAnAddress(t *testing.T) {
	certificate, _ := pair(t)
	for name, c := range map[string]struct {
		settings Settings
		want     string
	}{
		"a URL stays":                              {Settings{Host: pointer("https://h:6443")}, "https://h:6443"},
		"a path stays":                             {Settings{Host: pointer("https://h/k8s/clusters/c1")}, "https://h/k8s/clusters/c1"},
		"no scheme, nothing secret: http":          {Settings{Host: pointer("localhost:8001")}, "http://localhost:8001"},
		"no scheme, with a token: https":           {Settings{Host: pointer("h:6443"), Token: pointer("t")}, "https://h:6443"},
		"no scheme, with a CA: https":              {Settings{Host: pointer("h:6443"), ClusterCACertificate: &certificate}, "https://h:6443"},
		"no scheme, insecure: https":               {Settings{Host: pointer("10.0.0.1"), Insecure: pointer(true)}, "https://10.0.0.1"},
		"it replaces the server of the file":       {Settings{Host: pointer("https://h"), ConfigPath: pointer(write(t, "c", hub))}, "https://h"},
		"it needs no current-context in the file ": {Settings{Host: pointer("https://h"), ConfigPath: pointer(write(t, "c", strings.Replace(hub, "current-context: dev", "", 1)))}, "https://h"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustLoad(t, c.settings, env()).Host; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheEnvironmentDoesNotRedirectAnExplicitCluster(t *testing.T) {
	explicit, other := write(t, "explicit", hub), write(t, "other", strings.ReplaceAll(hub, "example.com", "elsewhere.example"))
	for name, c := range map[string]struct {
		settings Settings
		env      LookupEnv
		want     string
	}{
		"config_path against KUBE_CONFIG_PATHS":  {Settings{ConfigPath: &explicit}, env("KUBE_CONFIG_PATHS", other), "https://dev.example.com:6443"},
		"config_paths against KUBE_CONFIG_PATH":  {Settings{ConfigPaths: []string{explicit}}, env("KUBE_CONFIG_PATH", other), "https://dev.example.com:6443"},
		"config_paths against KUBE_CONFIG_PATHS": {Settings{ConfigPaths: []string{explicit}}, env("KUBE_CONFIG_PATHS", other), "https://dev.example.com:6443"},
		"config_path against KUBE_HOST":          {Settings{ConfigPath: &explicit}, env("KUBE_HOST", "https://elsewhere"), "https://dev.example.com:6443"},
		"host against KUBE_CONFIG_PATH":          {Settings{Host: pointer("https://h")}, env("KUBE_CONFIG_PATH", other), "https://h"},
		"host against KUBE_CONFIG_PATHS":         {Settings{Host: pointer("https://h")}, env("KUBE_CONFIG_PATHS", other), "https://h"},
		"host ignores a context of a file":       {Settings{Host: pointer("https://h")}, env("KUBE_CTX", "prod"), "https://h"},
		"KUBE_HOST over KUBE_CONFIG_PATH":        {Settings{}, env("KUBE_HOST", "https://h", "KUBE_CONFIG_PATH", other), "https://h"},
		"KUBE_CONFIG_PATHS over KUBE_CONFIG_PATH": {Settings{}, env("KUBE_CONFIG_PATHS", explicit, "KUBE_CONFIG_PATH", other),
			"https://dev.example.com:6443"},
		"a context from the environment is used": {Settings{ConfigPath: &explicit}, env("KUBE_CTX", "prod"), "https://prod.example.com:6443"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoad(t, c.settings, c.env)
			if cfg.Host != c.want {
				t.Errorf("got %q, want %q", cfg.Host, c.want)
			}
			if set(c.settings.Host) && cfg.BearerToken != "" {
				t.Errorf("the token of another cluster's file would be sent to %s", cfg.Host)
			}
		})
	}
}

func TestACredentialReplacesThoseOfTheFile(t *testing.T) {
	certificate, key := pair(t)
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	withCertificate := write(t, "config", strings.Replace(hub, "token: dev-file-token",
		"as: someone, client-certificate-data: "+b64(certificate)+", client-key-data: "+b64(key), 1))

	cfg := mustLoad(t, Settings{ConfigPath: &withCertificate, Token: pointer("explicit")}, env())
	if cfg.BearerToken != "explicit" || len(cfg.CertData) > 0 || len(cfg.KeyData) > 0 {
		t.Errorf("token %q, %d bytes of certificate; want only the token", cfg.BearerToken, len(cfg.CertData))
	}
	if cfg.Impersonate.UserName != "someone" {
		t.Errorf("impersonation of the file is lost: %+v", cfg.Impersonate)
	}
	cfg = mustLoad(t, Settings{ConfigPath: pointer(write(t, "config", hub)), Exec: &Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "c"}}, env())
	if cfg.BearerToken != "" || cfg.ExecProvider == nil {
		t.Errorf("token %q, exec %v; want only exec", cfg.BearerToken, cfg.ExecProvider)
	}
}

func TestAlternativeCredentialsOfTheEnvironmentAreSilenced(t *testing.T) {
	host := pointer("https://h")
	mine, mineKey := pair(t)
	others, othersKey := pair(t)
	everything := env("KUBE_TOKEN", "env-token", "KUBE_USER", "env-user", "KUBE_PASSWORD", "env-password",
		"KUBE_CLIENT_CERT_DATA", others, "KUBE_CLIENT_KEY_DATA", othersKey)
	type credentials struct {
		token, username, certificate string
		exec                         bool
	}
	for name, c := range map[string]struct {
		settings Settings
		want     credentials
	}{
		"by a token":       {Settings{Host: host, Token: pointer("mine")}, credentials{token: "mine"}},
		"by a username":    {Settings{Host: host, Username: pointer("mine")}, credentials{username: "mine"}},
		"by a certificate": {Settings{Host: host, ClientCertificate: &mine, ClientKey: &mineKey}, credentials{certificate: mine}},
		"by exec":          {Settings{Host: host, Exec: &Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "c"}}, credentials{exec: true}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoad(t, c.settings, everything)
			got := credentials{cfg.BearerToken, cfg.Username, string(cfg.CertData), cfg.ExecProvider != nil}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestConfigPathsAreMergedAndTheFirstWins(t *testing.T) {
	first := write(t, "first", `{apiVersion: v1, kind: Config, current-context: prod,
  clusters: [{name: prod-cluster, cluster: {server: "https://first.example.com"}}]}`)
	second := write(t, "second", hub)
	for name, c := range map[string]struct {
		settings Settings
		env      LookupEnv
	}{
		"from the attribute": {Settings{ConfigPaths: []string{first, second}}, env()},
		"from the variable":  {Settings{}, env("KUBE_CONFIG_PATHS", first+string(os.PathListSeparator)+second)},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoad(t, c.settings, c.env)
			if cfg.Host != "https://first.example.com" || cfg.BearerToken != "prod-file-token" {
				t.Errorf("got %s with token %q", cfg.Host, cfg.BearerToken)
			}
		})
	}
}

func TestHomeDirectoryIsExpanded(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.WriteFile(filepath.Join(home, "hub.yaml"), []byte(hub), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Settings{
		"in config_path":  {ConfigPath: pointer("~/hub.yaml")},
		"in config_paths": {ConfigPaths: []string{"~/hub.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustLoad(t, s, env()).Host; got != "https://dev.example.com:6443" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestExecIsHandedToTheClient(t *testing.T) {
	cfg := mustLoad(t, Settings{
		Host: pointer("h:6443"),
		Exec: &Exec{
			APIVersion: "client.authentication.k8s.io/v1",
			Command:    "aws",
			Args:       []string{"eks", "get-token"},
			Env:        map[string]string{"B": "2", "A": "1"},
		},
	}, env())
	e := cfg.ExecProvider
	if e == nil || e.Command != "aws" || strings.Join(e.Args, " ") != "eks get-token" || e.APIVersion != "client.authentication.k8s.io/v1" {
		t.Fatalf("got %v", e)
	}
	if len(e.Env) != 2 || e.Env[0].Name != "A" || e.Env[0].Value != "1" || e.Env[1].Name != "B" {
		t.Errorf("environment %d entries, want A then B", len(e.Env))
	}
	if e.InteractiveMode != "IfAvailable" {
		t.Errorf("interactive mode %q, want IfAvailable", e.InteractiveMode)
	}
	if cfg.Host != "https://h:6443" {
		t.Errorf("host %q: a credential needs https", cfg.Host)
	}
}

func TestThePodIsUsedOnlyWhenNothingNamesACluster(t *testing.T) {
	pod := func() (*rest.Config, error) {
		return &rest.Config{
			Host:            "https://10.96.0.1:443",
			BearerTokenFile: write(t, "token", "pod-token"),
			TLSClientConfig: rest.TLSClientConfig{CAFile: write(t, "ca.crt", "-")},
		}, nil
	}
	cfg, err := Load(Settings{}, Options{LookupEnv: env(), inCluster: pod})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "https://10.96.0.1:443" || cfg.BearerToken != "pod-token" || cfg.BearerTokenFile == "" {
		t.Errorf("host %q, token %q, token file %q", cfg.Host, cfg.BearerToken, cfg.BearerTokenFile)
	}

	cfg, err = Load(Settings{Token: pointer("mine")}, Options{LookupEnv: env(), inCluster: pod})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.BearerToken != "mine" || cfg.BearerTokenFile != "" {
		t.Errorf("token %q, token file %q: the pod's token file must not win", cfg.BearerToken, cfg.BearerTokenFile)
	}

	// A kubeconfig file without a context must not fall back to the pod's cluster.
	empty := write(t, "config", "apiVersion: v1\nkind: Config\n")
	if _, err := Load(Settings{ConfigPath: &empty}, Options{LookupEnv: env(), inCluster: pod}); err == nil {
		t.Error("an empty kubeconfig file silently became the pod's cluster")
	}
	broken := func() (*rest.Config, error) { return nil, errors.New("open token: permission denied") }
	if _, err := Load(Settings{}, Options{LookupEnv: env(), inCluster: broken}); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v, want the reason why the service account is unusable", err)
	}
}

func TestRateLimitAndUserAgentAreTheCallers(t *testing.T) {
	cfg, err := Load(Settings{Host: pointer("https://h")}, Options{QPS: 7, Burst: 9, UserAgent: "me/1", LookupEnv: env(), inCluster: notInPod})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.QPS != 7 || cfg.Burst != 9 || cfg.UserAgent != "me/1" {
		t.Errorf("QPS %v, burst %v, user agent %q", cfg.QPS, cfg.Burst, cfg.UserAgent)
	}
}
