package appset

import (
	"fmt"
	"slices"
)

// ApplicationsSync says which of the Applications that exist may be changed, and which may be
// deleted (ApplicationsSyncPolicy in pkg/apis/application/v1alpha1, Argo CD 3.6.1). Empty is [Sync].
type ApplicationsSync string

// The values of syncPolicy.applicationsSync.
const (
	CreateOnly   ApplicationsSync = "create-only"
	CreateUpdate ApplicationsSync = "create-update"
	CreateDelete ApplicationsSync = "create-delete"
	Sync         ApplicationsSync = "sync"
)

// Updates reports whether Applications that exist may be changed.
func (p ApplicationsSync) Updates() bool { return p != CreateOnly && p != CreateDelete }

// Deletes reports whether Applications that the set does not give any more may be deleted.
func (p ApplicationsSync) Deletes() bool { return p != CreateOnly && p != CreateUpdate }

// decodeApplicationsSync reads the policy. While it is not known, nothing is rendered: what would
// become of each Application is not known either.
func (s *Set) decodeApplicationsSync(v any, at Path, issues *Issues) {
	policies := []string{string(CreateOnly), string(CreateUpdate), string(CreateDelete), string(Sync)}
	value, known := v.(string)
	s.unknown = s.unknown || IsUnknown(v)
	if !known || value == "" {
		return
	}
	if !slices.Contains(policies, value) {
		issues.fail(at, SummaryWrongType, fmt.Sprintf(
			"%s must be create-only, create-update, create-delete or sync, but is %s.%s", at, describe(v), didYouMean(value, policies)))
		return
	}
	s.ApplicationsSync = ApplicationsSync(value)
}
