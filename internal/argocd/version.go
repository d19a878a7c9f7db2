package argocd

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// controllerLabels are those of the application controller's workload: in Argo CD's manifests, in
// its Helm chart and as its operator writes them.
const controllerLabels = "app.kubernetes.io/part-of=argocd,app.kubernetes.io/component=application-controller"

// versionLabel has the version in installations by Helm, also where an image has only a digest.
const versionLabel = "app.kubernetes.io/version"

var versionPattern = regexp.MustCompile(`^v?(\d+)\.(\d+)\.\d+`)

// Version is the version of an Argo CD.
type Version struct {
	Major, Minor int
	// Text is as it was read, e.g. "v3.6.1".
	Text string
}

// The oldest and the newest Argo CD that the provider is tested with, the patch level apart.
var (
	OldestTested = Version{Major: 3, Minor: 2}
	NewestTested = Version{Major: 3, Minor: 6}
)

// Compare is negative where v is older than other, positive where it is newer; patch levels do not
// count.
func (v Version) Compare(other Version) int {
	return cmp.Or(cmp.Compare(v.Major, other.Major), cmp.Compare(v.Minor, other.Minor))
}

// Short is the version without its patch level, e.g. "3.6".
func (v Version) Short() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Version reads from the workload of the application controller in Argo CD's namespace which Argo CD
// runs. ok is false where it does not show: the controller runs elsewhere, its image has another
// kind of name, or the credentials may not list workloads, which is no error.
func (c *Client) Version(ctx context.Context) (v Version, ok bool) {
	for _, resource := range []schema.GroupVersionResource{statefulSets, deployments} {
		var found *unstructured.UnstructuredList
		what := RequestError{Verb: "list", Resource: resource.GroupResource().String(), Namespace: c.namespace}
		err := c.requestWithin(ctx, 0, what, func() (err error) {
			found, err = c.dynamic.Resource(resource).Namespace(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: controllerLabels})
			return err
		})
		if err != nil {
			return Version{}, false
		}
		for i := range found.Items {
			if v, ok := versionOf(&found.Items[i]); ok {
				return v, true
			}
		}
	}
	return Version{}, false
}

// versionOf is what the image of a workload, or else its label, says.
func versionOf(workload *unstructured.Unstructured) (Version, bool) {
	containers, _ := at(workload.Object, "spec", "template", "spec", "containers").([]any)
	for _, container := range containers {
		fields, _ := container.(map[string]any)
		if v, ok := parseVersion(imageTag(text(fields, "image"))); ok {
			return v, true
		}
	}
	return parseVersion(workload.GetLabels()[versionLabel])
}

// imageTag is the tag of an image of Argo CD; a container beside it has another name.
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if !strings.Contains(name, "argocd") {
		return ""
	}
	return tag
}

func parseVersion(s string) (Version, bool) {
	numbers := versionPattern.FindStringSubmatch(s)
	if numbers == nil {
		return Version{}, false
	}
	major, err := strconv.Atoi(numbers[1])
	if err != nil {
		return Version{}, false
	}
	minor, err := strconv.Atoi(numbers[2])
	return Version{Major: major, Minor: minor, Text: s}, err == nil
}
