package argocd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The marks on Applications are a stored format: other versions of the provider read what this
// one wrote. Never change the meaning of a key; add another.
const (
	// SetLabel is on every Application of a set (and on its record and its Lease). Its value is Owner.Hash, since
	// a full name is no valid label value; OwnerAnnotation decides, the label only selects.
	SetLabel = "argocdprogressive.io/set"
	// OwnerAnnotation is "namespace/name" of the set, on its Applications and its Lease.
	OwnerAnnotation = "argocdprogressive.io/owner"
	// StepAnnotation is the label of the step that the Application was last rolled out in.
	StepAnnotation = "argocdprogressive.io/step"
	// ManagedAnnotation is JSON, {"labels":[...],"annotations":[...]}: the keys of the labels and
	// annotations that we manage, sorted. All others belong to somebody else and survive.
	ManagedAnnotation = "argocdprogressive.io/managed"
	// ManualAfterAnnotation is set by the write of a manual step: rollout.Deployed.ID before that
	// write, in decimal (absent means zero). Only a later deployment proves that a person has synced.
	ManualAfterAnnotation = "argocdprogressive.io/manual-after"

	// markPrefix starts all of our own marks; they never count into the spec hash.
	markPrefix = "argocdprogressive.io/"

	// nudgeAnnotation comes and goes to make Argo CD look at an Application; see nudger.
	nudgeAnnotation = "argocdprogressive.io/nudge"

	// tokenInfo names the entry of operation.info that identifies an operation of ours.
	tokenInfo = "argocdprogressive.io/operation"
	// initiatorPrefix starts operation.initiatedBy.username; the target hash follows. Argo CD keeps
	// it in the deployment history.
	initiatorPrefix = "argocdprogressive/"
)

// Argo CD's own marks, and what it calls things (pkg/apis/application/v1alpha1, Argo CD 3.6.1).
const (
	refreshAnnotation          = "argocd.argoproj.io/refresh"
	refreshTimestampAnnotation = "argocd.argoproj.io/refresh-timestamp"
	skipReconcileAnnotation    = "argocd.argoproj.io/skip-reconcile"
	resourcesFinalizer         = "resources-finalizer.argocd.argoproj.io"
)

// Owner identifies a set. Its Applications live in Namespace.
type Owner struct{ Namespace, Name string }

// String is the form stored in OwnerAnnotation.
func (o Owner) String() string { return o.Namespace + "/" + o.Name }

// Hash is the value of SetLabel: the first 16 hexadecimal digits of the SHA-256 of "namespace/name".
func (o Owner) Hash() string {
	sum := sha256.Sum256([]byte(o.String()))
	return hex.EncodeToString(sum[:])[:16]
}

// owns tells whether the full owner's name stands on the object; the label alone could be another
// set of the same short hash.
func (o Owner) owns(obj *unstructured.Unstructured) bool {
	return obj.GetAnnotations()[OwnerAnnotation] == o.String()
}

// managedKeys is the content of ManagedAnnotation.
type managedKeys struct {
	Labels      []string `json:"labels"`
	Annotations []string `json:"annotations"`
}

// managedOf are the keys that a rendered Application manages.
func managedOf(desired map[string]any) managedKeys {
	return managedKeys{
		Labels:      foreignKeys(dict(desired, "metadata", "labels")),
		Annotations: foreignKeys(dict(desired, "metadata", "annotations")),
	}
}

// readManaged reads ManagedAnnotation; one that is absent or damaged manages nothing.
func readManaged(annotations map[string]string) managedKeys {
	var m managedKeys
	if json.Unmarshal([]byte(annotations[ManagedAnnotation]), &m) != nil {
		return managedKeys{}
	}
	return m
}

func (m managedKeys) String() string {
	text, err := json.Marshal(m)
	if err != nil {
		panic("argocd: two lists of strings cannot be encoded: " + err.Error())
	}
	return string(text)
}

// foreignKeys are the sorted keys that are not marks of ours; never nil, so that JSON has lists.
func foreignKeys(m map[string]any) []string {
	keys := []string{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !strings.HasPrefix(k, markPrefix) {
			keys = append(keys, k)
		}
	}
	return keys
}

// manualAfter reads ManualAfterAnnotation.
func manualAfter(annotations map[string]string) int64 {
	n, err := strconv.ParseInt(annotations[ManualAfterAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
