package acceptance

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ignoreHealth makes Argo CD ignore differences in what setHealth changes; it goes into set.AppSpec.
var ignoreHealth = obj{"ignore_differences": list{obj{
	"kind": "ConfigMap", "json_pointers": []string{"/data/health", "/data/message"},
}}}

// unhealthy writes ConfigMaps that have this health once they are deployed, and commits.
func (f *fixture) unhealthy(health, version string, suffixes ...string) string {
	f.Helper()
	for _, s := range suffixes {
		f.write(s, map[string]string{"version": version, "health": health, "message": "as the test wants it"})
	}
	return f.commit()
}

// setHealth changes the health of the live ConfigMap of an Application.
func (f *fixture) setHealth(ctx context.Context, name, health string) error {
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"health": health}})
	if err != nil {
		return err
	}
	_, err = f.client.Resource(configMaps).Namespace(f.name).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("setting the health of ConfigMap %s: %w", name, err)
	}
	return nil
}

// progressing tells that an Application is deployed and does not get healthy yet.
func progressing(s *appState) bool {
	return s != nil && !s.Pending && s.Phase == "Succeeded" && s.Sync == "Synced" && s.Revision == s.OpRevision && s.Health == "Progressing"
}
