package provider

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func providerSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Rolls the Applications of an Argo CD ApplicationSet out step by step, from Terraform.",
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Namespace that Argo CD itself runs in: its AppProjects, cluster Secrets and repository credentials are read " +
					"there. It is also that of the Applications of every resource that does not set its own `namespace`; a resource keeps the " +
					"one it was created with. Default: `\"argocd\"`, e.g. `\"argocd\"`.",
				Validators: []validator.String{stringvalidator.RegexMatches(namespaceName, namespaceRule)},
			},
			"refresh": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether a plan asks Argo CD to look at git again, once per distinct repository, chart and target " +
					"revision, so that new commits are in the plan. With `false`, plans are strictly read-only and show what Argo CD saw " +
					"last; generators are read all the same. Default: `true`, e.g. `false`.",
			},
			"qps": schema.NumberAttribute{
				Optional: true,
				MarkdownDescription: "Requests per second to the API server, on average. More are delayed, not refused. Default: `100`, e.g. `20` for a " +
					"small one.",
				Validators: []validator.Number{wholeNumber{1, maxRate}},
			},
			"burst": schema.NumberAttribute{
				Optional: true,
				MarkdownDescription: "Requests that may be sent at once before `qps` delays them; useful when it is at least `qps`. Default: `300`, e.g. " +
					"`1000`.",
				Validators: []validator.Number{wholeNumber{1, maxRate}},
			},
			"progress":   progressAttribute(),
			"kubernetes": kubernetesAttribute(),
		},
	}
}

// maxRate keeps qps and burst where int and float32 represent them exactly.
const maxRate = 1_000_000

// kubernetesModel is kubernetes = {...}; names and meaning are those of the kubernetes provider.
type kubernetesModel struct {
	Host                  types.String `tfsdk:"host"`
	Username              types.String `tfsdk:"username"`
	Password              types.String `tfsdk:"password"`
	Insecure              types.Bool   `tfsdk:"insecure"`
	TLSServerName         types.String `tfsdk:"tls_server_name"`
	ClientCertificate     types.String `tfsdk:"client_certificate"`
	ClientKey             types.String `tfsdk:"client_key"`
	ClusterCACertificate  types.String `tfsdk:"cluster_ca_certificate"`
	ConfigPath            types.String `tfsdk:"config_path"`
	ConfigPaths           types.List   `tfsdk:"config_paths"`
	ConfigContext         types.String `tfsdk:"config_context"`
	ConfigContextAuthInfo types.String `tfsdk:"config_context_auth_info"`
	ConfigContextCluster  types.String `tfsdk:"config_context_cluster"`
	Token                 types.String `tfsdk:"token"`
	ProxyURL              types.String `tfsdk:"proxy_url"`
	Exec                  types.Object `tfsdk:"exec"`
}

// execModel is kubernetes = { exec = {...} }.
type execModel struct {
	APIVersion types.String `tfsdk:"api_version"`
	Command    types.String `tfsdk:"command"`
	Args       types.List   `tfsdk:"args"`
	Env        types.Map    `tfsdk:"env"`
}

// alternative builds a validator that refuses the sibling attributes.
func alternative(siblings ...string) []validator.String {
	return []validator.String{stringvalidator.ConflictsWith(siblingPaths(siblings)...)}
}

func siblingPaths(names []string) []path.Expression {
	var out []path.Expression
	for _, n := range names {
		out = append(out, path.MatchRelative().AtParent().AtName(n))
	}
	return out
}

func kubernetesAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "How to reach the cluster in which Argo CD's Applications live. The attributes and the environment " +
			"variables are those of the `kubernetes` provider; an attribute beats its variable, which beats the kubeconfig file, and an " +
			"attribute set to `\"\"` keeps the variable out. Where the configuration names a cluster by `host` or by a kubeconfig file, " +
			"the environment cannot redirect it to another. Nothing is read from `KUBECONFIG` or `~/.kube/config` unless named. " +
			"Default: the environment variables, else the service account of the pod that Terraform runs in. The connection is made " +
			"when it is first needed, so the cluster may be created in the same configuration, e.g. `{ config_path = \"~/.kube/config\", config_context = \"prod-hub\" }`.",
		Attributes: merged(serverAttributes(), kubeconfigAttributes(), credentialAttributes()),
	}
}

// merged is all attributes of several maps whose keys are distinct.
func merged(parts ...map[string]schema.Attribute) map[string]schema.Attribute {
	all := map[string]schema.Attribute{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

// serverAttributes say where the API server is and how it proves who it is.
func serverAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"host": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Address of the API server. Replaces the server of the kubeconfig file. Without a scheme, https is assumed when there " +
				"is a credential, a CA or `insecure`, else http. Default: `KUBE_HOST`, else the kubeconfig file, e.g. " +
				"`\"https://10.0.0.1:6443\"`.",
		},
		"insecure": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Whether the server's certificate is accepted unverified: anyone between Terraform and the server can then read the " +
				"credentials. Default: `KUBE_INSECURE`, else the kubeconfig file, else `false`, e.g. `true` for a throw-away cluster.",
		},
		"tls_server_name": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Name to verify the server's certificate against when it differs from the host. Default: `KUBE_TLS_SERVER_NAME`, else " +
				"the kubeconfig file, else the host, e.g. `\"kubernetes.default.svc\"`.",
		},
		"cluster_ca_certificate": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Certificates in PEM that sign the server's. Default: `KUBE_CLUSTER_CA_CERT_DATA`, else the kubeconfig file, else the " +
				"certificates of the machine, e.g. `base64decode(module.cluster.ca)`.",
		},
		"proxy_url": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Proxy for all requests, with the scheme http, https or socks5. Default: `KUBE_PROXY_URL`, else the kubeconfig file, " +
				"else `HTTPS_PROXY` and `NO_PROXY`, e.g. `\"socks5://localhost:1080\"`.",
		},
	}
}

// kubeconfigAttributes name files, and what to take from them.
func kubeconfigAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"config_path": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Kubeconfig file to use. It must exist. Default: `KUBE_CONFIG_PATH`, e.g. `\"~/.kube/config\"`.",
			Validators:          alternative("config_paths"),
		},
		"config_paths": schema.ListAttribute{
			Optional:    true,
			ElementType: types.StringType,
			MarkdownDescription: "Kubeconfig files, merged as kubectl does: the first that sets a value wins. Each must exist. Default: " +
				"`KUBE_CONFIG_PATHS`, separated as in `PATH`, e.g. `[\"~/.kube/hub\", \"~/.kube/users\"]`.",
			Validators: []validator.List{
				listvalidator.SizeAtLeast(1),
				listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1)),
			},
		},
		"config_context": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Context of the kubeconfig file; better named than left to whatever is current. Default: `KUBE_CTX`, else the file's " +
				"`current-context`, e.g. `\"prod-hub\"`.",
		},
		"config_context_auth_info": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "User of the kubeconfig file in place of the context's own. Default: `KUBE_CTX_AUTH_INFO`, else the context's, e.g. " +
				"`\"ci\"`.",
		},
		"config_context_cluster": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Cluster of the kubeconfig file in place of the context's own. Default: `KUBE_CTX_CLUSTER`, else the context's, e.g. " +
				"`\"hub\"`.",
		},
	}
}

// credentialAttributes say who we are.
func credentialAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"username": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "User name for basic authentication; most API servers have it off. Default: `KUBE_USER`, else the kubeconfig file, " +
				"e.g. `\"admin\"`.",
			Validators: alternative("token"),
		},
		"password": schema.StringAttribute{
			Optional:            true,
			Sensitive:           true,
			MarkdownDescription: "Password for basic authentication. Default: `KUBE_PASSWORD`, else the kubeconfig file, e.g. `var.password`.",
			Validators:          alternative("token"),
		},
		"client_certificate": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Client certificate in PEM; needs `client_key`. Default: `KUBE_CLIENT_CERT_DATA`, else the kubeconfig file, e.g. " +
				"`file(\"client.crt\")`.",
		},
		"client_key": schema.StringAttribute{
			Optional:  true,
			Sensitive: true,
			MarkdownDescription: "Key of `client_certificate` in PEM. Default: `KUBE_CLIENT_KEY_DATA`, else the kubeconfig file, e.g. " +
				"`file(\"client.key\")`.",
		},
		"token": schema.StringAttribute{
			Optional:  true,
			Sensitive: true,
			MarkdownDescription: "Bearer token for the API server. It is read once: one that expires during a long apply stops the rollout, where " +
				"`exec` goes on. Default: `KUBE_TOKEN`, else the kubeconfig file, e.g. `data.aws_eks_cluster_auth.hub.token`.",
		},
		"exec": execAttribute(),
	}
}

func execAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Command that prints credentials, run when the first request is sent and again when they expire. " +
			"Replaces the user of the kubeconfig file. Default: the kubeconfig file, e.g. " +
			"`{ api_version = \"client.authentication.k8s.io/v1\", command = \"aws\", args = [\"eks\", \"get-token\"] }`.",
		Attributes: map[string]schema.Attribute{
			"api_version": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Version of the credential protocol that the command speaks. Required, e.g. `\"client.authentication.k8s.io/v1\"`.",
			},
			"command": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Command to run, found on `PATH` or an absolute path. Required, e.g. `\"aws\"`.",
			},
			"args": schema.ListAttribute{
				Optional:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Arguments of the command. Default: none, e.g. `[\"eks\", \"get-token\", \"--cluster-name\", \"hub\"]`.",
			},
			"env": schema.MapAttribute{
				Optional:            true,
				Sensitive:           true,
				ElementType:         types.StringType,
				MarkdownDescription: "Environment variables added to the provider's own for the command. Default: none, e.g. `{ AWS_PROFILE = \"hub\" }`.",
			},
		},
	}
}
