package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

// asPlanned refuses to apply other Applications than the plan has shown, as far as it could show
// any: what generators give may have changed since.
func asPlanned(owner argocd.Owner, planned, now waves) diag.Diagnostics {
	var diags diag.Diagnostics
	if planned.unknown || now.unknown {
		return diags
	}
	shown, open := planned.hashes()
	is, _ := now.hashes()
	var more, fewer, other []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		was, ok := shown[name]
		switch {
		case !ok && open[is[name].label]:
		case !ok:
			more = append(more, name)
		case was.label != is[name].label || was.hash != "" && was.hash != is[name].hash:
			other = append(other, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		if _, ok := is[name]; !ok {
			fewer = append(fewer, name)
		}
	}
	var lines []string
	for _, kind := range []struct {
		what  string
		names []string
	}{{"New", more}, {"Gone", fewer}, {"Changed", other}} {
		if len(kind.names) > 0 {
			lines = append(lines, fmt.Sprintf("  %s: %s", kind.what, shorten(kind.names)))
		}
	}
	if len(lines) > 0 {
		diags.AddError("Generators changed since the plan", fmt.Sprintf(
			"The generators of %s give other Applications now than the plan has shown:\n%s\nNothing was changed. Make a new plan: terraform plan. "+
				"data.argocdprogressive_parameters keeps what a plan has shown until it is applied.", owner, strings.Join(lines, "\n")))
	}
	return diags
}

// promise is what the waves say of an Application.
type promise struct {
	label string
	// hash is that of the spec; empty while it is not known.
	hash string
}

// hashes are the promises by Application, and the steps of which it is not known what is in them.
func (w waves) hashes() (of map[string]promise, open map[string]bool) {
	of, open = map[string]promise{}, map[string]bool{}
	for label, s := range w.steps {
		open[label] = s.unknown
		for name, leaf := range s.leaves {
			of[name] = promise{label: label, hash: hashIn(leaf)}
		}
	}
	return of, open
}

// hashIn is the spec hash in a leaf; empty when there is none.
func hashIn(leaf string) string {
	_, hash, _ := strings.Cut(leaf, "#")
	hash, _, _ = strings.Cut(hash, " ")
	return hash
}
