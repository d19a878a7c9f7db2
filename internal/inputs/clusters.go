package inputs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
)

// secretType is the label by which Argo CD knows the Secrets that are its own.
const secretType = "argocd.argoproj.io/secret-type"

// Clusters reads the cluster Secrets, as in applicationset/generators/cluster.go (Argo CD 3.6.1).
func (in *Inputs) Clusters(ctx context.Context) ([]appset.Cluster, error) {
	found, err := in.clusters.get(ctx, struct{}{}, func() ([]appset.Cluster, error) {
		objects, err := in.list(ctx, secrets, metav1.ListOptions{LabelSelector: secretType + "=cluster"})
		if err != nil {
			return nil, refusal(fmt.Sprintf("listing the clusters that Argo CD knows (Secrets in namespace %s)", in.namespace), err)
		}
		clusters := make([]appset.Cluster, 0, len(objects))
		for _, object := range objects {
			data, err := secretData(object)
			if err != nil {
				return nil, err
			}
			c := appset.Cluster{
				Name: data["name"], Server: data["server"], Project: data["project"],
				Labels: object.GetLabels(), Annotations: object.GetAnnotations(),
			}
			if c.Name == "" || c.Server == "" {
				c.Secret = object.GetNamespace() + "/" + object.GetName()
			}
			clusters = append(clusters, c)
		}
		slices.SortFunc(clusters, func(a, b appset.Cluster) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Project, b.Project))
		})
		return clusters, nil
	})
	return slices.Clone(found), err
}
