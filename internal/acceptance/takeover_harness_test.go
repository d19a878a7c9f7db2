package acceptance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// appSets are the ApplicationSets of Argo CD's own controller.
var appSets = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applicationsets"}

// appSet is an ApplicationSet of the fixture's name with one Application for each suffix, which is its
// env as well, and one step for each of them, in this order. Deleting an Application deletes what it has deployed.
func (f *fixture) appSet(suffixes ...string) *unstructured.Unstructured {
	elements, steps := list{}, list{}
	for _, suffix := range suffixes {
		elements = append(elements, f.element(suffix))
		steps = append(steps, obj{"matchExpressions": list{obj{"key": "env", "operator": "In", "values": list{suffix}}}})
	}
	return &unstructured.Unstructured{Object: obj{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": obj{"name": f.name, "namespace": argoNamespace},
		"spec": obj{
			"goTemplate": true, "goTemplateOptions": list{"missingkey=error"},
			"generators": list{obj{"list": obj{"elements": elements}}},
			"strategy":   obj{"type": "RollingSync", "deletionOrder": "Reverse", "rollingSync": obj{"steps": steps}},
			"template": obj{
				"metadata": obj{
					"name": "{{.name}}", "labels": obj{"env": "{{.env}}"}, "annotations": obj{"example.com/team": "web"},
					"finalizers": list{"resources-finalizer.argocd.argoproj.io"},
				},
				"spec": obj{
					"project":     "default",
					"source":      obj{"repoURL": f.repo.URL(), "targetRevision": "main", "path": "apps/{{.name}}"},
					"destination": obj{"server": inClusterServer, "namespace": f.name},
				},
			},
		},
	}}
}

// createAppSet creates an ApplicationSet, which goes with its Applications when the test ends.
func (f *fixture) createAppSet(set *unstructured.Unstructured) *unstructured.Unstructured {
	f.Helper()
	at := f.client.Resource(appSets).Namespace(set.GetNamespace())
	created, err := at.Create(f.ctx(), set, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err := at.Delete(ctx, set.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			f.Logf("removing ApplicationSet %s: %v", set.GetName(), err)
		}
	})
	return created
}

// deployFirst creates the Applications of an ApplicationSet before the controller does, and syncs them to version 1, so that its
// rollout has nothing to do: that would take its grace period of 30 seconds.
func (f *fixture) deployFirst(suffixes ...string) {
	f.Helper()
	f.release("1", suffixes...)
	for _, suffix := range suffixes {
		f.foreign(suffix, func(app *unstructured.Unstructured) { app.Object["operation"] = obj{"sync": obj{}} })
	}
	f.until("the Applications are deployed", func() bool {
		return len(slices.DeleteFunc(f.liveApps(f.ctx()), func(app unstructured.Unstructured) bool { return !newAppState(&app).done() })) == len(suffixes)
	})
}

// until waits for a condition; the test ends where that does not come.
func (f *fixture) until(what string, condition func() bool) {
	f.Helper()
	nudged := time.Now()
	err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, 2*patience, true, func(ctx context.Context) (bool, error) {
		if time.Since(nudged) > nudgeAfter {
			for _, app := range f.liveApps(ctx) {
				f.nudge(ctx, app.GetName())
			}
			nudged = time.Now()
		}
		return condition(), nil
	})
	if err != nil {
		f.Fatalf("waiting until %s: %v", what, err)
	}
}

// inCluster deploys the Applications and creates their ApplicationSet, which the controller has adopted them by and has nothing
// to do for when this returns.
func (f *fixture) inCluster(suffixes ...string) *unstructured.Unstructured {
	f.Helper()
	f.deployFirst(suffixes...)
	set := f.createAppSet(f.appSet(suffixes...))
	f.awaitAdopted(len(suffixes))
	return set
}

// awaitAdopted waits until the controller has said for a second that all Applications of the set, n of them, are Healthy, and nothing
// has run. It may ask for a sync a second time, from a status in its cache that is old by then (Argo CD 3.6.1). What is done meanwhile
// is done at each look.
func (f *fixture) awaitAdopted(n int, meanwhile ...func()) {
	f.Helper()
	f.awaitRest(func() bool {
		for _, do := range meanwhile {
			do()
		}
		return f.adopted(n)
	})
}

// awaitRest waits until a condition has held for a second in which nothing ran.
func (f *fixture) awaitRest(condition func() bool) {
	f.Helper()
	rested := 0
	f.until("the ApplicationSet is at rest", func() bool {
		busy := func(app unstructured.Unstructured) bool { return !newAppState(&app).done() }
		if rested++; !condition() || slices.ContainsFunc(f.liveApps(f.ctx()), busy) {
			rested = 0
		}
		return rested == 10
	})
}

// adopted tells whether the controller says that all Applications of the set, n of them, are Healthy, and that no rollout is on.
func (f *fixture) adopted(n int) bool {
	f.Helper()
	set, err := f.client.Resource(appSets).Namespace(argoNamespace).Get(f.ctx(), f.name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	entries, _, _ := unstructured.NestedSlice(set.Object, "status", "applicationStatus")
	for _, entry := range entries {
		if entry.(map[string]any)["status"] != "Healthy" {
			return false
		}
	}
	conditions, _, _ := unstructured.NestedSlice(set.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "RolloutProgressing" && c["status"] == "True" {
			return false
		}
	}
	return len(entries) == n && len(conditions) > 0 && f.controlled() == n
}

// controlled is how many Applications of the fixture have a controller.
func (f *fixture) controlled() int {
	f.Helper()
	n := 0
	for _, app := range f.liveApps(f.ctx()) {
		if metav1.GetControllerOf(&app) != nil {
			n++
		}
	}
	return n
}

// appSetGone fails while there is an ApplicationSet of the fixture's name.
func (f *fixture) appSetGone() error { return f.appSetGoneFrom(argoNamespace) }

func (f *fixture) appSetGoneFrom(namespace string) error {
	_, err := f.client.Resource(appSets).Namespace(namespace).Get(f.ctx(), f.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("the ApplicationSet %s is there (%w)", f.name, err)
}

// isOurs fails unless these Applications, and only these, carry the marks of the set, and nothing controls them.
func (f *fixture) isOurs(names ...string) func() error {
	return func() error {
		var errs []error
		live := f.liveApps(f.ctx())
		if len(live) != len(names) {
			errs = append(errs, fmt.Errorf("%d Applications live, not %d", len(live), len(names)))
		}
		return errors.Join(append(errs, f.carryMarks(live))...)
	}
}

// carryMarks fails unless all of these carry the marks of the fixture's set, and nothing controls them.
func (f *fixture) carryMarks(apps []unstructured.Unstructured) error {
	var errs []error
	for _, app := range apps {
		if app.GetAnnotations()[ownerAnnotation] != app.GetNamespace()+"/"+f.name || app.GetLabels()[setLabel] == "" || len(app.GetOwnerReferences()) > 0 {
			errs = append(errs, fmt.Errorf("%s has the labels %v, the annotations %v and the owners %v", app.GetName(), app.GetLabels(), app.GetAnnotations(), app.GetOwnerReferences()))
		}
	}
	return errors.Join(errs...)
}

// workloads are the UIDs of what the Applications have deployed.
func (f *fixture) workloads() map[string]string {
	f.Helper()
	found, err := f.client.Resource(configMaps).Namespace(f.name).List(f.ctx(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	uids := map[string]string{}
	for _, cm := range found.Items {
		if strings.HasPrefix(cm.GetName(), f.name) {
			uids[cm.GetName()] = string(cm.GetUID())
		}
	}
	return uids
}

// nothingDeleted fails if an Application was deleted, even if only asked to, since the recorder was reset, or if a workload has
// changed since.
func (f *fixture) nothingDeleted(seen *recorder, workloads map[string]string) func() error {
	return func() error {
		var errs []error
		for _, s := range seen.since() {
			if s.Deleting || s.Deleted {
				errs = append(errs, fmt.Errorf("%s was deleted", s.Name))
			}
		}
		if now := f.workloads(); !maps.Equal(now, workloads) {
			errs = append(errs, fmt.Errorf("the workloads were %v, and are %v", workloads, now))
		}
		return errors.Join(errs...)
	}
}

// mover is an account that may take ApplicationSets over: apply.yaml and takeover.yaml of examples/rbac, without the
// verbs given, as "patch applicationsets.argoproj.io".
func (f *fixture) mover(suffix string, without ...string) account {
	f.Helper()
	return f.moverIn(argoNamespace, suffix, without...)
}

// moverIn is mover for ApplicationSets in a namespace: what the files say for another one than Argo CD's.
func (f *fixture) moverIn(namespace, suffix string, without ...string) account {
	f.Helper()
	name := f.name + "-" + suffix
	objects := append(readRBAC("apply.yaml", applyAccount), readRBAC("takeover.yaml", "argocdprogressive-takeover")...)
	for _, o := range objects {
		switch {
		case namespace == argoNamespace || o.GetKind() == "ServiceAccount":
		case o.GetName() == "argocdprogressive-takeover":
			o.SetNamespace(namespace)
		case o.GetName() == applyAccount:
			there := o.DeepCopy()
			there.SetNamespace(namespace)
			objects = append(objects, there)
		}
	}
	for _, o := range objects {
		text := strings.NewReplacer(applyAccount, name, "argocdprogressive-takeover", name+"-takeover").Replace(manifest(o.Object))
		*o = *parse(text)
		if o.GetKind() == "Role" && strings.HasSuffix(o.GetName(), "-takeover") {
			ungranted(without...)(o)
		}
	}
	a := f.passingAccount(objects)
	f.until("the account may read ApplicationSets", func() bool {
		review := &unstructured.Unstructured{Object: obj{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
			"spec": obj{
				"user":               "system:serviceaccount:" + argoNamespace + ":" + name,
				"resourceAttributes": obj{"group": appSets.Group, "resource": appSets.Resource, "verb": "get", "namespace": namespace},
			},
		}}
		answer, err := f.client.Resource(schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}).
			Create(f.ctx(), review, metav1.CreateOptions{})
		if err != nil {
			f.Fatal(err)
		}
		allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
		return allowed || slices.Contains(without, "get applicationsets.argoproj.io")
	})
	return a
}

// importBlock imports the fixture's set into the address of the tests.
func (f *fixture) importBlock() string {
	return fmt.Sprintf("import {\n  to = %s\n  id = \"%s/%s\"\n}\n", address, argoNamespace, f.name)
}
