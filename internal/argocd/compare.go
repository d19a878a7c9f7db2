package argocd

import (
	"reflect"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// comparedToSpec tells whether a comparison was made with the sources, the destination and the
// ignoreDifferences of spec: what Argo CD itself looks at to see whether a comparison is out of
// date (needRefreshAppStatus in controller/appcontroller.go, 3.6.1).
func comparedToSpec(spec, comparedTo map[string]any) bool {
	return comparedTo != nil && sameSources(spec, comparedTo) && same(spec, comparedTo, "destination", "ignoreDifferences")
}

// sameSources compares the sources of a spec with the source or sources that Argo CD stored. With
// several sources it stores an empty source as well.
func sameSources(spec, stored map[string]any) bool {
	if hasSeveralSources(spec) {
		return same(spec, stored, "sources")
	}
	return same(map[string]any{"source": singleSource(spec)}, stored, "source")
}

// same compares fields of two specs in their normal form: Argo CD writes what it stores through
// Go structs, where empty values vanish.
func same(a, b map[string]any, fields ...string) bool {
	pick := func(m map[string]any) map[string]any {
		out := map[string]any{}
		for _, f := range fields {
			if v, ok := m[f]; ok {
				out[f] = v
			}
		}
		return appset.Normalize(out)
	}
	return reflect.DeepEqual(pick(a), pick(b))
}

// hasSeveralSources follows ApplicationSpec.HasMultipleSources (types.go, Argo CD 3.6.1).
func hasSeveralSources(spec map[string]any) bool {
	return spec["sourceHydrator"] == nil && len(list(spec, "sources")) > 0
}

// singleSource is the source of a spec that has one. That of a hydrator is the branch it writes
// to (SourceHydrator.GetSyncSource in types.go, 3.6.1).
func singleSource(spec map[string]any) map[string]any {
	hydrator := dict(spec, "sourceHydrator")
	if hydrator == nil {
		return dict(spec, "source")
	}
	repo := text(hydrator, "syncSource", "repoURL")
	if repo == "" {
		repo = text(hydrator, "drySource", "repoURL")
	}
	return map[string]any{
		"repoURL":        repo,
		"path":           text(hydrator, "syncSource", "path"),
		"targetRevision": text(hydrator, "syncSource", "targetBranch"),
	}
}
