package provider

import (
	"fmt"
	"strings"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// failureTexts name each kind of failure, and the next command. The guide "Failures and how to go
// on" (templates/guides/failures.md) lists them all.
var failureTexts = map[rollout.Kind]struct {
	summary string
	// advice has GET, APP, NS and ARGOCD in place of the command that shows the Application, its
	// name for the argocd command line, its namespace and that of Argo CD.
	advice string
}{
	rollout.KindSyncFailed: {"Sync failed",
		"See what each resource said: argocd app get APP --show-operation, or GET"},
	rollout.KindComparison: {"Comparison failed",
		"Argo CD cannot render its manifests. See why: argocd app get APP --hard-refresh, or GET"},
	rollout.KindInvalid: {"Invalid Application",
		"Argo CD refuses its spec. Look at it: GET"},
	rollout.KindProject: {"AppProject missing",
		"See which there are: kubectl -n ARGOCD get appprojects.argoproj.io"},
	rollout.KindNotPermitted: {"AppProject does not permit it",
		"See what it permits: kubectl -n ARGOCD get appprojects.argoproj.io -o yaml"},
	rollout.KindDestination: {"Destination cluster unknown",
		"See which clusters Argo CD knows: argocd cluster list"},
	rollout.KindDegraded: {"Application degraded",
		"See which resource it is: argocd app get APP, or GET"},
	rollout.KindMissing: {"Resources missing",
		"See which resource it is: argocd app get APP, or GET"},
	rollout.KindHealthUnknown: {"Application health unknown",
		"See which resource it is: argocd app get APP, or GET"},
	rollout.KindSuspended: {"Application suspended",
		"Resume it (kubectl argo rollouts promote, kubectl rollout resume), or set rollout.suspended = \"accept\". See which resource it is: argocd app get APP, or GET"},
	rollout.KindProgressing: {"Application still progressing",
		"See which resource holds it back: argocd app get APP, or GET\nIf it needs more time, raise rollout.app_timeout."},
	rollout.KindOutOfSync: {"Application out of sync",
		"See what differs: argocd app diff APP\nLet Argo CD ignore that (ignore_differences of the Application), or take it as it is with " +
			"rollout.accept_out_of_sync = true."},
	rollout.KindTimeout: {"Application timed out",
		"Look at it: GET\nIf it needs more time, raise rollout.app_timeout."},
	rollout.KindOccupied: {"Another operation is running",
		"See whose it is: argocd app get APP --show-operation\nEnd it: argocd app terminate-op APP"},
	rollout.KindVanished: {"Application vanished",
		"Somebody has deleted it. See who, in the audit log of the API server, and that nothing else manages it; terraform apply creates it again."},
	rollout.KindRecreated: {"Application recreated by someone else",
		"Make sure that nothing else manages it (its ownerReferences, labels and managedFields tell): GET"},
	rollout.KindDeleting: {"Application being deleted",
		"See what holds its deletion up: GET\nWhen it is gone, terraform apply creates it again."},
	rollout.KindSuperseded: {"Sync superseded",
		"Somebody has synced another revision. See who: argocd app history APP"},
	rollout.KindChanged: {"Application changed by someone else",
		"Make sure that nothing else manages it (its managedFields tell): GET --show-managed-fields"},
	rollout.KindOvertaken: {"Automated sync switched on",
		"Somebody has switched automated sync on during the rollout. See who, and make sure that it does not happen again (a parent Application with self-heal?): GET --show-managed-fields"},
	rollout.KindSkipReconcile: {"Reconciliation switched off",
		"Let Argo CD reconcile it again: kubectl -n NS annotate applications.argoproj.io NAME argocd.argoproj.io/skip-reconcile-"},
	rollout.KindSilent: {"No answer from Argo CD",
		"See whether the application controller runs and watches this namespace: kubectl -n ARGOCD get pods\nSee what it says: kubectl -n ARGOCD logs statefulset/argocd-application-controller"},
	rollout.KindRequest: {"Request refused",
		"Look at it: GET"},
	rollout.KindUnhealthyEarlier: {"Earlier step unhealthy",
		"See which resource it is: argocd app get APP, or GET\nTo roll on all the same, set rollout.require_healthy_earlier = false, or name it in rollout.hold."},
	rollout.KindUnsteady: {"Unhealthy while soaking",
		"See which resource it is: argocd app get APP, or GET"},
	rollout.KindSyncWindow: {"Sync window closed",
		"Look at the windows: kubectl -n ARGOCD get appprojects.argoproj.io -o yaml\nTo wait until it opens, set rollout.sync_window_policy = \"wait\"."},
	rollout.KindLost: {"Operation lost",
		"See whether something else writes its operation or its status: GET --show-managed-fields"},
	rollout.KindDeletion: {"Deletion not finished",
		"See what remains, and its finalizers: GET\nIf nothing has happened to it at all, see whether the application controller runs: kubectl -n ARGOCD get pods"},
}

func summaryOf(k rollout.Kind) string {
	if t, ok := failureTexts[k]; ok {
		return t.summary
	}
	return capital(string(k))
}

// advice is the next command for one failure.
func (r report) advice(f rollout.Failure) string {
	if how := r.credentials(f.Err); how != "" {
		return how
	}
	advice := failureTexts[f.Kind].advice
	if f.Kind == rollout.KindOutOfSync && needsPruning(f.Said) {
		advice = "A resource is gone from the source, and the sync did not delete it. Let syncs of the rollout do that with rollout.prune = true. " +
			"See which one: argocd app diff APP"
	}
	return strings.NewReplacer(
		"GET", fmt.Sprintf("kubectl -n %s get applications.argoproj.io %s -o yaml", r.namespace, f.App),
		"APP", r.namespace+"/"+f.App, "NAME", f.App, "NS", r.namespace, "ARGOCD", r.argoNamespace,
	).Replace(advice)
}

// needsPruning tells by Argo CD's words that only a sync with prune would help.
func needsPruning(said string) bool {
	return strings.Contains(said, "PruneSkipped") || strings.Contains(said, "needs pruning")
}
