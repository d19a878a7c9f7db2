package argocd

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// blockedMessage is how Argo CD says that a sync window holds an operation back; an explanation
// may follow (controller/sync.go, Argo CD 3.6.1).
const blockedMessage = "Sync operation blocked by sync window"

// retryMessage begins what Argo CD adds to the message of a failed attempt: which attempt follows,
// and when (processRequestedAppOperation in controller/appcontroller.go, 3.6.1).
const retryMessage = ". Retrying attempt #"

// foreign stands for an operation or a refresh that nobody has told us the identity of.
const foreign = "?"

// Facts turns an Application into what the engine needs to know of it. What is retained does not
// count into its hash. It is a pure function; what the object does not say is the zero value.
func Facts(obj *unstructured.Unstructured, retained *appset.Retained) rollout.Live {
	annotations := obj.GetAnnotations()
	spec, status := dict(obj.Object, "spec"), dict(obj.Object, "status")
	managed := readManaged(annotations)
	hash := retained.Hash(obj.Object, managed.Labels, managed.Annotations)
	return rollout.Live{
		Name:          obj.GetName(),
		UID:           string(obj.GetUID()),
		Version:       obj.GetResourceVersion(),
		Rank:          rank(obj),
		Hash:          hash,
		StepLabel:     annotations[StepAnnotation],
		Sources:       sourcesOf(spec),
		AutomatedOn:   automatedOn(spec),
		Terminating:   obj.GetDeletionTimestamp() != nil,
		SkipReconcile: annotations[skipReconcileAnnotation] == "true",
		Operation:     operationFacts(dict(obj.Object, "operation"), dict(status, "operationState")),
		Sync:          comparisonFacts(spec, dict(status, "sync")),
		Health:        rollout.Condition{Type: text(status, "health", "status"), Message: said(status, "health", "message")},
		Errors:        errorConditions(objects(status, "conditions")),
		Deployed:      deployedFacts(spec, hash, objects(status, "history")),
		RefreshID:     refreshID(annotations),
		ManualAfter:   manualAfter(annotations),
		Ended:         moment(status, "operationState", "finishedAt"),
		Compared:      moment(status, "reconciledAt"),
		Unfinished:    unfinished(objects(status, "resources")),
		Finalizers:    obj.GetFinalizers(),
	}
}

// moment is a time as Kubernetes writes it; zero where there is none.
func moment(m map[string]any, path ...string) time.Time {
	t, err := time.Parse(time.RFC3339, text(m, path...))
	if err != nil {
		return time.Time{}
	}
	return t
}

// rank is the resourceVersion as a number. Kubernetes guarantees since 1.35 that those of one
// resource compare as numbers; etcd's always have.
func rank(obj *unstructured.Unstructured) uint64 { return versionRank(obj.GetResourceVersion()) }

func versionRank(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// automatedOn follows SyncPolicy.IsAutomatedSyncEnabled (types.go, Argo CD 3.6.1).
func automatedOn(spec map[string]any) bool {
	automated := dict(spec, "syncPolicy", "automated")
	if automated == nil {
		return false
	}
	enabled, set := automated["enabled"].(bool)
	return !set || enabled
}

// operationFacts reads the operation asked for and the one in the status. Our token stands in
// operation.info, which Argo CD copies into the status word for word.
func operationFacts(pending, state map[string]any) rollout.Operation {
	var o rollout.Operation
	if pending != nil {
		o.Pending = tokenOf(pending)
		o.PendingTarget = targetOf(pending)
		o.PendingRevisions = revisionsOf(dict(pending, "sync"))
	}
	if state == nil || pending == nil && underWay(text(state, "phase")) {
		return o
	}
	operation := dict(state, "operation")
	o.Token = tokenOf(operation)
	o.Target = targetOf(operation)
	o.Phase = text(state, "phase")
	o.Message = said(state, "message")
	o.Revisions = revisionsOf(dict(state, "syncResult"))
	if len(o.Revisions) == 0 {
		o.Revisions = revisionsOf(dict(operation, "sync"))
	}
	o.Cause = causeOf(o.Message)
	o.Retries = int(number(state, "retryCount"))
	if o.Phase == rollout.Running && text(state, "finishedAt") != "" {
		o.Failure, _, _ = strings.Cut(o.Message, retryMessage)
	}
	o.Blocked = o.Phase == rollout.Running && strings.HasPrefix(o.Message, blockedMessage)
	o.Incomplete = incomplete(objects(state, "syncResult", "resources"))
	o.Started = text(state, "startedAt")
	return o
}

// underWay tells that an operation has not ended, if it is still asked for. Argo CD ends one and takes
// what asked for it away in the same patch; where somebody else has taken that away, nothing works on the
// operation any more, and its status stays as it is (setOperationState and processAppOperationQueueItem in
// controller/appcontroller.go, Argo CD 3.6.1).
func underWay(phase string) bool { return phase == rollout.Running || phase == rollout.Terminating }

func tokenOf(operation map[string]any) string {
	for _, info := range objects(operation, "info") {
		if text(info, "name") == tokenInfo && text(info, "value") != "" {
			return text(info, "value")
		}
	}
	return foreign
}

func targetOf(operation map[string]any) string {
	target, ours := strings.CutPrefix(text(operation, "initiatedBy", "username"), initiatorPrefix)
	if !ours {
		return ""
	}
	return target
}

// revisionsOf reads the pair that Argo CD writes everywhere: revisions with several sources,
// revision with one.
func revisionsOf(m map[string]any) []string {
	if several := texts(m, "revisions"); len(several) > 0 {
		return several
	}
	if one := text(m, "revision"); one != "" {
		return []string{one}
	}
	return nil
}

// incomplete are the resources of a sync result that were not synced, by the result codes of
// gitops-engine.
func incomplete(results []map[string]any) []string {
	var out []string
	for _, r := range results {
		if code := text(r, "status"); code == "PruneSkipped" || code == "SyncFailed" {
			out = append(out, sentence(": ", resourceName(r), code, said(r, "message")))
		}
	}
	slices.Sort(out)
	return out
}

func comparisonFacts(spec, sync map[string]any) rollout.Comparison {
	return rollout.Comparison{
		Status:    text(sync, "status"),
		Revisions: revisionsOf(sync),
		OfSpec:    comparedToSpec(spec, dict(sync, "comparedTo")),
	}
}

// conditionKinds tell what an InvalidSpecError or UnknownError is about by the words that Argo CD uses
// (ValidatePermissions, GetDestinationCluster and ValidateDestination in util/argo/argo.go, and
// controller/appcontroller.go, Argo CD 3.6.1). Where it uses others, the condition counts as an
// invalid Application, with its text.
var conditionKinds = []struct {
	words string
	kind  rollout.Kind
}{
	{"referencing project", rollout.KindProject},
	{"is not permitted", rollout.KindNotPermitted},
	{"do not match any of the allowed destinations", rollout.KindNotPermitted},
	{"there are no clusters with this name", rollout.KindDestination},
	{"clusters with the same name", rollout.KindDestination},
	{"error getting cluster by", rollout.KindDestination},
	{"application destination can't have both name and server defined", rollout.KindDestination},
}

func conditionKind(message string) rollout.Kind {
	for _, c := range conditionKinds {
		if strings.Contains(message, c.words) {
			return c.kind
		}
	}
	return ""
}

// causeOf reads the message of an operation that has failed because of the Application's conditions:
// Argo CD puts their types in front (FormatAppConditions in util/argo/argo.go, 3.6.1).
func causeOf(message string) rollout.Kind {
	kind, rest, _ := strings.Cut(message, ": ")
	switch kind {
	case "ComparisonError":
		return rollout.KindComparison
	case "Failed to load application project": // processRequestedAppOperation in controller/appcontroller.go
		return rollout.KindProject
	case "InvalidSpecError", "UnknownError":
		if cause := conditionKind(rest); cause != "" {
			return cause
		}
		return rollout.KindInvalid
	}
	return ""
}

// errorConditions are those whose type ends in Error; Argo CD names all of its errors so, and no
// warning.
func errorConditions(conditions []map[string]any) []rollout.Condition {
	var out []rollout.Condition
	for _, c := range conditions {
		if strings.HasSuffix(text(c, "type"), "Error") {
			out = append(out, rollout.Condition{Type: text(c, "type"), Message: said(c, "message"), Kind: conditionKind(text(c, "message"))})
		}
	}
	slices.SortStableFunc(out, func(a, b rollout.Condition) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Message, b.Message))
	})
	return out
}

// deployedFacts reads the newest entry of the history. Argo CD counts entries from 0
// (persistRevisionHistory in controller/state.go, 3.6.1), rollout from 1. hash is that of the live
// spec: an entry has the sources alone, but one of ours tells which whole spec was deployed, and the
// spec may have been written since, by an operation that has not ended.
func deployedFacts(spec map[string]any, hash string, history []map[string]any) rollout.Deployed {
	if len(history) == 0 {
		return rollout.Deployed{}
	}
	newest := slices.MaxFunc(history, func(a, b map[string]any) int { return cmp.Compare(number(a, "id"), number(b, "id")) })
	target := targetOf(newest)
	return rollout.Deployed{
		ID:        number(newest, "id") + 1,
		Revisions: revisionsOf(newest),
		OfSpec:    sameSources(spec, newest) && (target == "" || target == hash),
		Target:    target,
	}
}

// refreshID tells which refresh is outstanding. Argo CD 3.6 removes both annotations at once, when
// the new status is stored; before 3.6 it knows only the first, and leaves the timestamp behind.
// So only the first tells whether a refresh is outstanding.
func refreshID(annotations map[string]string) string {
	if annotations[refreshAnnotation] == "" {
		return ""
	}
	if id := annotations[refreshTimestampAnnotation]; id != "" {
		return id
	}
	return foreign
}

// unfinished describes the resources that are not Synced, not Healthy, or to be pruned. Hooks are
// left out: Argo CD gives them no sync status.
func unfinished(resources []map[string]any) []string {
	var out []string
	for _, r := range resources {
		sync, health := text(r, "status"), text(r, "health", "status")
		if truth(r, "hook") {
			continue
		}
		if sync == rollout.Synced {
			sync = ""
		}
		if health == rollout.Healthy {
			health = ""
		}
		prune := ""
		if truth(r, "requiresPruning") {
			prune = "needs pruning"
		}
		if health != "" {
			health = sentence(": ", health, said(r, "health", "message"))
		}
		if what := sentence(", ", sync, prune, health); what != "" {
			out = append(out, resourceName(r)+": "+what)
		}
	}
	slices.Sort(out)
	return out
}
