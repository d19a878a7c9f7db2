package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/kubeconfig"
)

// connectionSettings translates kubernetes = {...} and names, sorted, the attributes that are
// not known yet.
func connectionSettings(ctx context.Context, o types.Object) (kubeconfig.Settings, []string, diag.Diagnostics) {
	switch {
	case o.IsUnknown():
		return kubeconfig.Settings{}, []string{"kubernetes"}, nil
	case o.IsNull():
		return kubeconfig.Settings{}, nil, nil
	}
	var m kubernetesModel
	diags := o.As(ctx, &m, basetypes.ObjectAsOptions{})
	if diags.HasError() {
		return kubeconfig.Settings{}, nil, diags
	}
	unknown := unknownAttributes("kubernetes", o)
	s := kubeconfig.Settings{
		Host:                  m.Host.ValueStringPointer(),
		Username:              m.Username.ValueStringPointer(),
		Password:              m.Password.ValueStringPointer(),
		Insecure:              m.Insecure.ValueBoolPointer(),
		TLSServerName:         m.TLSServerName.ValueStringPointer(),
		ClientCertificate:     m.ClientCertificate.ValueStringPointer(),
		ClientKey:             m.ClientKey.ValueStringPointer(),
		ClusterCACertificate:  m.ClusterCACertificate.ValueStringPointer(),
		ConfigPath:            m.ConfigPath.ValueStringPointer(),
		ConfigPaths:           stringsOf(m.ConfigPaths.Elements()),
		ConfigContext:         m.ConfigContext.ValueStringPointer(),
		ConfigContextAuthInfo: m.ConfigContextAuthInfo.ValueStringPointer(),
		ConfigContextCluster:  m.ConfigContextCluster.ValueStringPointer(),
		Token:                 m.Token.ValueStringPointer(),
		ProxyURL:              m.ProxyURL.ValueStringPointer(),
	}
	if m.Exec.IsNull() || m.Exec.IsUnknown() {
		return s, unknown, diags
	}
	var e execModel
	diags.Append(m.Exec.As(ctx, &e, basetypes.ObjectAsOptions{})...)
	s.Exec = &kubeconfig.Exec{
		APIVersion: e.APIVersion.ValueString(),
		Command:    e.Command.ValueString(),
		Args:       stringsOf(e.Args.Elements()),
	}
	for name, v := range e.Env.Elements() {
		if s.Exec.Env == nil {
			s.Exec.Env = map[string]string{}
		}
		s.Exec.Env[name] = stringOf(v)
	}
	return s, unknown, diags
}

// unknownAttributes names the deepest attributes below an object that are, or contain
// something, unknown.
func unknownAttributes(prefix string, o types.Object) []string {
	var out []string
	for name, v := range o.Attributes() {
		at := prefix + "." + name
		switch nested, isObject := v.(types.Object); {
		case isObject && !v.IsNull() && !v.IsUnknown():
			out = append(out, unknownAttributes(at, nested)...)
		case containsUnknown(v):
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return out
}

func containsUnknown(v attr.Value) bool {
	if v.IsUnknown() {
		return true
	}
	switch c := v.(type) {
	case types.List:
		return slices.ContainsFunc(c.Elements(), attr.Value.IsUnknown)
	case types.Map:
		for _, e := range c.Elements() {
			if e.IsUnknown() {
				return true
			}
		}
	}
	return false
}

func stringsOf(values []attr.Value) []string {
	var out []string
	for _, v := range values {
		out = append(out, stringOf(v))
	}
	return out
}

// stringOf is empty for null and unknown.
func stringOf(v attr.Value) string {
	s, ok := v.(types.String)
	if !ok {
		return ""
	}
	return s.ValueString()
}
