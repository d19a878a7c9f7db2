package provider

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// providerConfiguration builds a provider block in which only the given attributes are set; those of
// kubernetes = {...} are given as "kubernetes.NAME", those of exec as "kubernetes.exec.NAME".
func providerConfiguration(t *testing.T, values map[string]tftypes.Value) tftypes.Value {
	t.Helper()
	return tfObject(t, providerSchema().Type().TerraformType(t.Context()), "", values)
}

func tfObject(t *testing.T, typ tftypes.Type, prefix string, values map[string]tftypes.Value) tftypes.Value {
	t.Helper()
	object, ok := typ.(tftypes.Object)
	if !ok {
		t.Fatalf("%s is no object", prefix)
	}
	attributes := map[string]tftypes.Value{}
	for name, at := range object.AttributeTypes {
		attributes[name] = tftypes.NewValue(at, nil)
		if v, ok := values[prefix+name]; ok {
			attributes[name] = v
			continue
		}
		for key := range values {
			if strings.HasPrefix(key, prefix+name+".") {
				attributes[name] = tfObject(t, at, prefix+name+".", values)
			}
		}
	}
	return tftypes.NewValue(object, attributes)
}

var (
	tfString    = tftypes.String
	tfStrings   = tftypes.List{ElementType: tftypes.String}
	tfStringMap = tftypes.Map{ElementType: tftypes.String}
)

func tfText(s string) tftypes.Value { return tftypes.NewValue(tfString, s) }

// configureProvider runs Configure on a configuration and fails the test on a diagnostic.
func configureProvider(t *testing.T, values map[string]tftypes.Value) *ProviderData {
	t.Helper()
	var resp provider.ConfigureResponse
	New("1.2.3")().Configure(t.Context(), provider.ConfigureRequest{
		TerraformVersion: "1.11.4",
		Config:           tfsdk.Config{Schema: providerSchema(), Raw: providerConfiguration(t, values)},
	}, &resp)
	if resp.Diagnostics.HasError() {
		t.Fatalf("Configure: %v", resp.Diagnostics)
	}
	if resp.DataSourceData != resp.ResourceData {
		t.Error("resources and data sources do not share one connection")
	}
	d, err := providerDataFrom(resp.ResourceData)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// hideCluster hides the cluster of whoever runs the tests. An empty variable counts as
// absent.
func hideCluster(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "KUBE_") {
			t.Setenv(name, "")
		}
	}
	// Without it, client-go does not take a pod for one.
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
}

func TestSchemaIsValid(t *testing.T) {
	if diags := providerSchema().ValidateImplementation(t.Context()); diags.HasError() {
		t.Fatal(diags)
	}
	server, err := providerserver.NewProtocol6WithError(New("test")())()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range resp.Diagnostics {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
}

func TestSecretsAreSensitive(t *testing.T) {
	secret := []string{"kubernetes.client_key", "kubernetes.exec.env", "kubernetes.password", "kubernetes.token"}
	var got []string
	walkAttributes(providerSchema().Attributes, "", func(name string, a schema.Attribute) {
		if a.IsSensitive() {
			got = append(got, name)
		}
	})
	slices.Sort(got)
	if !slices.Equal(got, secret) {
		t.Errorf("sensitive: %v, want %v", got, secret)
	}
}

func walkAttributes(attributes map[string]schema.Attribute, prefix string, visit func(string, schema.Attribute)) {
	for name, a := range attributes {
		visit(prefix+name, a)
		if nested, ok := a.(schema.SingleNestedAttribute); ok {
			walkAttributes(nested.Attributes, prefix+name+".", visit)
		}
	}
}

func TestDefaults(t *testing.T) {
	hideCluster(t)
	d := configureProvider(t, nil)
	if d.Namespace != "argocd" || d.NamespaceUnknown || !d.Refresh || len(d.UnknownAttributes) > 0 {
		t.Errorf("got %q, %v, %v, %v", d.Namespace, d.NamespaceUnknown, d.Refresh, d.UnknownAttributes)
	}
	d = configureProvider(t, map[string]tftypes.Value{"kubernetes.host": tfText("https://h")})
	cfg, err := d.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.QPS != 100 || cfg.Burst != 300 {
		t.Errorf("QPS %v, burst %v", cfg.QPS, cfg.Burst)
	}
	if want := "Terraform/1.11.4 terraform-provider-argocdprogressive/1.2.3"; cfg.UserAgent != want {
		t.Errorf("user agent %q, want %q", cfg.UserAgent, want)
	}
}

func TestEveryAttributeReachesTheClient(t *testing.T) {
	hideCluster(t)
	d := configureProvider(t, map[string]tftypes.Value{
		"namespace":                   tfText("gitops"),
		"refresh":                     tftypes.NewValue(tftypes.Bool, false),
		"qps":                         tftypes.NewValue(tftypes.Number, 7),
		"burst":                       tftypes.NewValue(tftypes.Number, 9),
		"kubernetes.host":             tfText("https://h"),
		"kubernetes.insecure":         tftypes.NewValue(tftypes.Bool, true),
		"kubernetes.tls_server_name":  tfText("name"),
		"kubernetes.proxy_url":        tfText("http://proxy:3128"),
		"kubernetes.exec.api_version": tfText("client.authentication.k8s.io/v1"),
		"kubernetes.exec.command":     tfText("aws"),
		"kubernetes.exec.args":        tftypes.NewValue(tfStrings, []tftypes.Value{tfText("eks"), tfText("get-token")}),
		"kubernetes.exec.env":         tftypes.NewValue(tfStringMap, map[string]tftypes.Value{"A": tfText("1")}),
	})
	if d.Namespace != "gitops" || d.Refresh {
		t.Errorf("namespace %q, refresh %v", d.Namespace, d.Refresh)
	}
	cfg, err := d.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.QPS != 7 || cfg.Burst != 9 || cfg.Host != "https://h" || !cfg.Insecure || cfg.ServerName != "name" || cfg.Proxy == nil {
		t.Errorf("got %v", cfg)
	}
	e := cfg.ExecProvider
	if e == nil || e.Command != "aws" || !slices.Equal(e.Args, []string{"eks", "get-token"}) || len(e.Env) != 1 || e.Env[0].Name != "A" || e.Env[0].Value != "1" {
		t.Errorf("exec %v", e)
	}
	again, err := d.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if again == cfg {
		t.Error("two callers share one configuration: a change by one reaches the other")
	}
}

// Each string attribute, one at a time, must reach its own field of the settings.
func TestNoConnectionAttributeIsMixedUpWithAnother(t *testing.T) {
	values := map[string]tftypes.Value{}
	for name, a := range kubernetesAttribute().(schema.SingleNestedAttribute).Attributes {
		if _, ok := a.(schema.StringAttribute); ok {
			values["kubernetes."+name] = tfText(name)
		}
	}
	values["kubernetes.config_paths"] = tftypes.NewValue(tfStrings, []tftypes.Value{tfText("a"), tfText("b")})
	s := configureProvider(t, values).settings
	for name, got := range map[string]*string{
		"host": s.Host, "username": s.Username, "password": s.Password, "tls_server_name": s.TLSServerName,
		"client_certificate": s.ClientCertificate, "client_key": s.ClientKey, "cluster_ca_certificate": s.ClusterCACertificate,
		"config_path": s.ConfigPath, "config_context": s.ConfigContext, "config_context_auth_info": s.ConfigContextAuthInfo,
		"config_context_cluster": s.ConfigContextCluster, "token": s.Token, "proxy_url": s.ProxyURL,
	} {
		if got == nil || *got != name {
			t.Errorf("%s arrived as %v", name, got)
		}
		delete(values, "kubernetes."+name)
	}
	if !slices.Equal(s.ConfigPaths, []string{"a", "b"}) {
		t.Errorf("config_paths arrived as %v", s.ConfigPaths)
	}
	delete(values, "kubernetes.config_paths")
	if len(values) > 0 {
		t.Errorf("not checked: %v", values)
	}
}

func TestVariablesAreHonoured(t *testing.T) {
	hideCluster(t)
	t.Setenv("KUBE_HOST", "https://from-environment")
	t.Setenv("KUBE_TOKEN", "from-environment")
	cfg, err := configureProvider(t, nil).RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "https://from-environment" || cfg.BearerToken != "from-environment" {
		t.Errorf("host %q, token %q", cfg.Host, cfg.BearerToken)
	}
	cfg, err = configureProvider(t, map[string]tftypes.Value{"kubernetes.host": tfText("https://explicit")}).RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "https://explicit" {
		t.Errorf("host %q", cfg.Host)
	}
}

func TestUnknownValuesConfigureAndAreNamedWhenAConnectionIsNeeded(t *testing.T) {
	unknown := func(typ tftypes.Type) tftypes.Value { return tftypes.NewValue(typ, tftypes.UnknownValue) }
	kubernetesType := kubernetesAttribute().GetType().TerraformType(t.Context())
	execType := kubernetesType.(tftypes.Object).AttributeTypes["exec"]
	for name, c := range map[string]struct {
		values map[string]tftypes.Value
		want   []string
	}{
		"the whole object": {map[string]tftypes.Value{"kubernetes": unknown(kubernetesType)}, []string{"kubernetes"}},
		"host and token, sorted": {map[string]tftypes.Value{"kubernetes.token": unknown(tfString), "kubernetes.host": unknown(tfString)},
			[]string{"kubernetes.host", "kubernetes.token"}},
		"the whole exec":      {map[string]tftypes.Value{"kubernetes.exec": unknown(execType)}, []string{"kubernetes.exec"}},
		"the command of exec": {map[string]tftypes.Value{"kubernetes.exec.command": unknown(tfString)}, []string{"kubernetes.exec.command"}},
		"one argument of exec": {map[string]tftypes.Value{"kubernetes.exec.command": tfText("c"),
			"kubernetes.exec.args": tftypes.NewValue(tfStrings, []tftypes.Value{tfText("a"), unknown(tfString)})}, []string{"kubernetes.exec.args"}},
		"one variable of exec": {map[string]tftypes.Value{"kubernetes.exec.command": tfText("c"),
			"kubernetes.exec.env": tftypes.NewValue(tfStringMap, map[string]tftypes.Value{"A": unknown(tfString)})}, []string{"kubernetes.exec.env"}},
		"one of config_paths": {map[string]tftypes.Value{
			"kubernetes.config_paths": tftypes.NewValue(tfStrings, []tftypes.Value{unknown(tfString)})}, []string{"kubernetes.config_paths"}},
		"all of config_paths": {map[string]tftypes.Value{"kubernetes.config_paths": unknown(tfStrings)}, []string{"kubernetes.config_paths"}},
		"insecure":            {map[string]tftypes.Value{"kubernetes.insecure": unknown(tftypes.Bool)}, []string{"kubernetes.insecure"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := configureProvider(t, c.values)
			if !slices.Equal(d.UnknownAttributes, c.want) {
				t.Errorf("unknown: %v, want %v", d.UnknownAttributes, c.want)
			}
			_, err := d.RESTConfig()
			if err == nil || !strings.Contains(err.Error(), strings.Join(c.want, ", ")) {
				t.Errorf("got %v, want an error that names %v", err, c.want)
			}
		})
	}
}

func TestUnknownSettingsBesideTheConnectionDoNotPreventIt(t *testing.T) {
	hideCluster(t)
	d := configureProvider(t, map[string]tftypes.Value{
		"namespace":       tftypes.NewValue(tftypes.String, tftypes.UnknownValue),
		"refresh":         tftypes.NewValue(tftypes.Bool, tftypes.UnknownValue),
		"qps":             tftypes.NewValue(tftypes.Number, tftypes.UnknownValue),
		"burst":           tftypes.NewValue(tftypes.Number, tftypes.UnknownValue),
		"kubernetes.host": tfText("https://h"),
	})
	if !d.NamespaceUnknown || d.Namespace != "" {
		t.Errorf("namespace %q, unknown %v", d.Namespace, d.NamespaceUnknown)
	}
	if d.Refresh {
		t.Error("an unknown refresh must leave the plan read-only")
	}
	cfg, err := d.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.QPS != 100 || cfg.Burst != 300 {
		t.Errorf("QPS %v, burst %v", cfg.QPS, cfg.Burst)
	}
}

func TestConfigureConnectsToNothingAndReadsNoFile(t *testing.T) {
	hideCluster(t)
	missing := filepath.Join(t.TempDir(), "created-later")
	d := configureProvider(t, map[string]tftypes.Value{"kubernetes.config_path": tfText(missing)})
	kubeconfig := "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], " +
		"clusters: [{name: c, cluster: {server: 'https://h'}}]}"
	if err := os.WriteFile(missing, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := d.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "https://h" {
		t.Errorf("host %q", cfg.Host)
	}
}

func TestNoConfigurationIsAClearError(t *testing.T) {
	hideCluster(t)
	_, err := configureProvider(t, nil).RESTConfig()
	if err == nil || !strings.Contains(err.Error(), "nothing names a cluster") {
		t.Errorf("got %v", err)
	}
}

func TestExpiredCredentialsAreExplained(t *testing.T) {
	d := configureProvider(t, map[string]tftypes.Value{"kubernetes.host": tfText("https://h"), "kubernetes.token": tfText("s3cr3t")})
	got := d.ExplainUnauthorized(apierrors.NewUnauthorized("expired"))
	if !strings.Contains(got, "exec") || strings.Contains(got, "s3cr3t") {
		t.Errorf("got %q", got)
	}
	if got := d.ExplainUnauthorized(errors.New("other")); got != "" {
		t.Errorf("got %q", got)
	}
}

// validateProvider sends a configuration through the real protocol, as terraform validate does.
func validateProvider(t *testing.T, values map[string]tftypes.Value) []*tfprotov6.Diagnostic {
	t.Helper()
	raw := providerConfiguration(t, values)
	config, err := tfprotov6.NewDynamicValue(raw.Type(), raw)
	if err != nil {
		t.Fatal(err)
	}
	server, err := providerserver.NewProtocol6WithError(New("test")())()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.ValidateProviderConfig(context.Background(), &tfprotov6.ValidateProviderConfigRequest{Config: &config})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Diagnostics
}

func TestContradictionsAreFoundAtValidation(t *testing.T) {
	number := func(n int) tftypes.Value { return tftypes.NewValue(tftypes.Number, n) }
	for name, c := range map[string]struct {
		values map[string]tftypes.Value
		want   string // a part of the attribute path; empty: valid
	}{
		"nothing set":           {nil, ""},
		"qps zero":              {map[string]tftypes.Value{"qps": number(0)}, `"qps"`},
		"qps negative":          {map[string]tftypes.Value{"qps": number(-1)}, `"qps"`},
		"qps a fraction":        {map[string]tftypes.Value{"qps": tftypes.NewValue(tftypes.Number, 0.5)}, `"qps"`},
		"burst too large":       {map[string]tftypes.Value{"burst": tftypes.NewValue(tftypes.Number, 1e30)}, `"burst"`},
		"burst zero":            {map[string]tftypes.Value{"burst": number(0)}, `"burst"`},
		"qps one":               {map[string]tftypes.Value{"qps": number(1), "burst": number(1)}, ""},
		"an empty namespace":    {map[string]tftypes.Value{"namespace": tfText("")}, `"namespace"`},
		"no namespace's name":   {map[string]tftypes.Value{"namespace": tfText("Argo CD")}, `"namespace"`},
		"token and password":    {map[string]tftypes.Value{"kubernetes.token": tfText("s3cr3t"), "kubernetes.password": tfText("s3cr3t")}, `"password"`},
		"token and username":    {map[string]tftypes.Value{"kubernetes.token": tfText("s3cr3t"), "kubernetes.username": tfText("u")}, `"username"`},
		"both ways of a file":   {map[string]tftypes.Value{"kubernetes.config_path": tfText("a"), "kubernetes.config_paths": tftypes.NewValue(tfStrings, []tftypes.Value{tfText("b")})}, `"config_path"`},
		"no config_paths":       {map[string]tftypes.Value{"kubernetes.config_paths": tftypes.NewValue(tfStrings, []tftypes.Value{})}, `"config_paths"`},
		"an unknown token":      {map[string]tftypes.Value{"kubernetes.token": tftypes.NewValue(tfString, tftypes.UnknownValue), "kubernetes.username": tfText("u")}, ""},
		"an unknown everything": {map[string]tftypes.Value{"kubernetes": tftypes.NewValue(kubernetesAttribute().GetType().TerraformType(t.Context()), tftypes.UnknownValue)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			diags := validateProvider(t, c.values)
			if c.want == "" {
				for _, d := range diags {
					t.Errorf("%s: %s", d.Summary, d.Detail)
				}
				return
			}
			if len(diags) == 0 {
				t.Fatal("no error")
			}
			if at := diags[0].Attribute.String(); !strings.Contains(at, c.want) {
				t.Errorf("the error is at %s, want %s", at, c.want)
			}
			for _, d := range diags {
				if strings.Contains(d.Summary+d.Detail, "s3cr3t") {
					t.Errorf("the error contains the secret: %s", d.Detail)
				}
			}
		})
	}
}
