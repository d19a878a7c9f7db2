package argocd

import (
	"encoding/json"
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

func orNothing(values []string) string {
	if len(values) == 0 {
		return "none"
	}
	return strings.Join(values, ", ")
}

// busy: somebody writes the ApplicationSet again and again.
func busy(owner Owner) error {
	return stuck("somebody keeps writing the ApplicationSet %s, so that it could not be changed within %s. Find out who: "+
		"kubectl -n %s get applicationsets.argoproj.io %s -o yaml --show-managed-fields", owner, answerPatience, owner.Namespace, owner.Name)
}

// The commands that are printed for people are guarded as the requests of the provider are: a patch fails,
// and with it all that follows, where the object is not the one, or not as, it was when the command was printed.

// byHand are commands, each on a line of its own, which Terraform does not wrap for the blanks in front
// of it. None runs where the one before it has failed.
func byHand(commands ...string) string { return "\n\n  " + strings.Join(commands, " &&\n  ") + "\n\n" }

// jsonPatch is the command that patches one object.
func jsonPatch(resource, namespace, name string, change []map[string]any) string {
	body, err := json.Marshal(change)
	if err != nil {
		panic(err) // texts alone
	}
	return fmt.Sprintf("kubectl -n %s patch %s %s --type=json -p %s", namespace, resource, name, quoted(string(body)))
}

// quoted is a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// removal removes a list's entry if it is the one that is known by the value at path below it.
func removal(entry, path, value string) []map[string]any {
	return []map[string]any{
		{"op": "test", "path": entry + path, "value": value},
		{"op": "remove", "path": entry},
	}
}

// DeleteByHand are the commands that delete the ApplicationSet and keep its Applications, in the steps
// of a take-over: its controller, which must run, is kept from writing ownerReferences again meanwhile.
func (s *InCluster) DeleteByHand() string {
	namespace, name, uid := s.object.GetNamespace(), s.object.GetName(), s.UID()
	operator, before := "by-hand-"+s.object.GetResourceVersion(), orderBefore(s.object.Object)
	if dict(s.object.Object, "spec", "strategy") == nil {
		before = orderUnset // the first command adds one
	}
	return byHand(
		allAtOnce(namespace, name, fmt.Sprintf(`"uid":"%s"`, uid)),
		jsonPatch(applicationSets.GroupResource().String(), namespace, name, []map[string]any{
			{"op": "test", "path": "/metadata/uid", "value": uid},
			{"op": "test", "path": orderPath, "value": "AllAtOnce"},
			{"op": "add", "path": "/spec/generators/0", "value": freeze(operator, before)},
		}),
		fmt.Sprintf(`until kubectl -n %s get applicationsets.argoproj.io %s -o jsonpath='{.status.conditions[?(@.type=="ErrorOccurred")].message}' | grep %s; do sleep 1; done`, namespace, name, operator),
		letGoByHand(namespace, uid),
		deleteOrphaning(namespace, name),
	) + "The third of them waits for the controller. Each runs only if the one before it has succeeded, and none changes another ApplicationSet of the name"
}

// deleteWithoutController is as DeleteByHand, where no controller runs: nobody writes
// ownerReferences then, and nobody removes the controller's own finalizer.
func deleteWithoutController(owner Owner, uid string) string {
	return byHand(
		allAtOnce(owner.Namespace, owner.Name, fmt.Sprintf(`"uid":"%s","finalizers":null`, uid)),
		letGoByHand(owner.Namespace, uid),
		deleteOrphaning(owner.Namespace, owner.Name),
	) + "Each of them runs only if the one before it has succeeded, and none changes another ApplicationSet of the name"
}

// allAtOnce sets the deletionOrder, whether there is a strategy or not. A uid in the metadata is a condition.
func allAtOnce(namespace, name, metadata string) string {
	return fmt.Sprintf(`kubectl -n %s patch applicationsets.argoproj.io %s --type=merge -p '{"metadata":{%s},"spec":{"strategy":{"deletionOrder":"AllAtOnce"}}}'`, namespace, name, metadata)
}

func deleteOrphaning(namespace, name string) string {
	return fmt.Sprintf("kubectl -n %s delete applicationsets.argoproj.io %s --cascade=orphan", namespace, name)
}

// letGoByHand removes the references to the ApplicationSet of the UID from the Applications that it owns.
func letGoByHand(namespace, uid string) string {
	const first = "/metadata/ownerReferences/0"
	return fmt.Sprintf(`(for app in $(kubectl -n %s get applications.argoproj.io -o jsonpath='{.items[?(@.metadata.ownerReferences[0].uid=="%s")].metadata.name}'); do %s || exit 1; done)`,
		namespace, uid, jsonPatch(applications.GroupResource().String(), namespace, `"$app"`, removal(first, "/uid", uid)))
}

// ThawByHand is the command that undoes the freezing of the ApplicationSet.
func (s *InCluster) ThawByHand() string {
	before := ""
	for _, generator := range objects(s.object.Object, "spec", "generators") {
		if isFreeze(generator) {
			before = strings.Join(texts(objects(generator, "selector", "matchExpressions")[0], "values"), "")
		}
	}
	return thawByHand(s.object.GetNamespace(), s.object.GetName(), before)
}

// thawByHand is ThawByHand of a set whose deletionOrder is to be what orderBefore said.
func thawByHand(namespace, name, before string) string {
	change := removal("/spec/generators/0", "/selector/matchExpressions/0/key", freezeKey)
	if before != "" {
		change = append(change, map[string]any{"op": "test", "path": orderPath, "value": "AllAtOnce"})
	}
	switch before {
	case "":
	case orderUnset:
		change = append(change, map[string]any{"op": "remove", "path": orderPath})
	default:
		change = append(change, map[string]any{"op": "replace", "path": orderPath, "value": before})
	}
	return byHand(jsonPatch(applicationSets.GroupResource().String(), namespace, name, change)) +
		"Where the first generator is not the one that freezes the ApplicationSet, that command fails, and changes nothing"
}
