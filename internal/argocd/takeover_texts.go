package argocd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrTakeOver says that a take-over cannot go on as things are; the text says what to do.
var ErrTakeOver = errors.New("the take-over cannot go on")

func stuck(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrTakeOver, fmt.Sprintf(format, args...))
}

// longestList is how many Applications a text names.
const longestList = 10

// someOf are the names of the first of them.
func someOf[T any](apps map[string]T) string {
	names := slices.Sorted(maps.Keys(apps))
	if more := len(names) - longestList; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:longestList], ", "), more)
	}
	return strings.Join(names, ", ")
}

// busy: somebody writes the ApplicationSet again and again.
func busy(owner Owner) error {
	return stuck("somebody keeps writing the ApplicationSet %s, so that it could not be changed within %s. Find out who: "+
		"kubectl -n %s get applicationsets.argoproj.io %s -o yaml --show-managed-fields", owner, answerPatience, owner.Namespace, owner.Name)
}

// DeleteByHand are the commands that delete an ApplicationSet and keep its Applications, in the steps
// of a take-over: its controller, which must run, is kept from writing ownerReferences again meanwhile.
func DeleteByHand(owner Owner) string {
	kubectl := fmt.Sprintf("kubectl -n %s", owner.Namespace)
	return fmt.Sprintf(`%[1]s patch applicationsets.argoproj.io %[2]s --type=merge -p '{"spec":{"strategy":{"deletionOrder":"AllAtOnce"}}}' && `+
		`%[1]s patch applicationsets.argoproj.io %[2]s --type=json -p '[{"op":"add","path":"/spec/generators/0","value":{"list":{"elements":[]},`+
		`"selector":{"matchExpressions":[{"key":"%[3]s","operator":"frozen-by-hand","values":[]}]}}}]' && `+
		`%[1]s wait applicationsets.argoproj.io %[2]s --for=condition=ErrorOccurred --timeout=3m && `+
		`%[1]s delete applicationsets.argoproj.io %[2]s --cascade=orphan`, kubectl, owner.Name, freezeKey)
}

// deleteWithoutController is as DeleteByHand, where no controller runs: nobody writes
// ownerReferences then, and nobody removes the controller's own finalizer.
func deleteWithoutController(owner Owner) string {
	return fmt.Sprintf(`kubectl -n %[1]s patch applicationsets.argoproj.io %[2]s --type=merge -p '{"metadata":{"finalizers":null},"spec":{"strategy":{"deletionOrder":"AllAtOnce"}}}' && `+
		`kubectl -n %[1]s delete applicationsets.argoproj.io %[2]s --cascade=orphan`, owner.Namespace, owner.Name)
}

// ThawByHand is the command that undoes the freezing of an ApplicationSet.
func ThawByHand(owner Owner) string {
	return fmt.Sprintf(`kubectl -n %s patch applicationsets.argoproj.io %s --type=json -p '[{"op":"remove","path":"/spec/generators/0"}]'`+
		", and set spec.strategy.deletionOrder as it was", owner.Namespace, owner.Name)
}
