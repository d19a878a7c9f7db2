package argocd

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestOnlyASetAtRestThatNothingBringsBackIsTakenOver(t *testing.T) {
	mark := func(annotations, labels map[string]string) func(*unstructured.Unstructured) {
		return func(set *unstructured.Unstructured) { set.SetAnnotations(annotations); set.SetLabels(labels) }
	}
	for name, test := range map[string]struct {
		set  *unstructured.Unstructured
		says string
	}{
		"at rest":                           {inCluster(condition("RolloutProgressing", "False", "done")), ""},
		"not seen by a controller":          {inCluster(), ""},
		"of an Argo CD Application":         {inCluster(mark(map[string]string{"argocd.argoproj.io/tracking-id": "root:argoproj.io/ApplicationSet:argocd/web"}, nil)), `Argo CD Application "root"`},
		"with the default instance label":   {inCluster(mark(nil, map[string]string{"app.kubernetes.io/instance": "root"})), "label applicationsets.argoproj.io web app.kubernetes.io/instance-"},
		"with Argo CD's own instance label": {inCluster(mark(nil, map[string]string{"argocd.argoproj.io/instance": "root"})), "label applicationsets.argoproj.io web argocd.argoproj.io/instance-"},
		"of a Helm release":                 {inCluster(mark(map[string]string{"meta.helm.sh/release-name": "sets"}, nil)), `Helm release "sets"`},
		"of a Flux Kustomization":           {inCluster(mark(nil, map[string]string{"kustomize.toolkit.fluxcd.io/name": "sets"})), `kustomize.toolkit.fluxcd.io/prune: disabled to the set in git`},
		"of a Flux HelmRelease":             {inCluster(mark(nil, map[string]string{"helm.toolkit.fluxcd.io/name": "sets"})), `helm.sh/resource-policy: keep to the set in the chart and let Flux`},
		"that is owned": {inCluster(func(set *unstructured.Unstructured) {
			set.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Team", Name: "web", UID: "uid-7"}})
		}), `The Team "web" owns it`},
		"that fails":          {inCluster(condition("ErrorOccurred", "True", "no repository.")), "says: no repository. Correct"},
		"that rolls out":      {inCluster(condition("RolloutProgressing", "True", "step 2")), "says: step 2"},
		"that is deleted":     {inCluster(deletionAsked), "deletionTimestamp"},
		"frozen, so it fails": {inCluster(frozen("f-1"), condition("ErrorOccurred", "True", "f-1")), ""},
		"frozen, and somebody brings it back": {inCluster(frozen("f-1"), mark(map[string]string{"argocd.argoproj.io/tracking-id": "root:x"}, nil)),
			"would create the set again"},
	} {
		said := ""
		for _, r := range (&InCluster{test.set}).refusals(origins{}) {
			said += r.Summary + ": " + r.Detail + "\n"
		}
		if (said == "") != (test.says == "") || !strings.Contains(said, test.says) {
			t.Errorf("a set %s: %q does not say %q", name, said, test.says)
		}
	}
}

func TestASetIsRefusedForWhatArgoCDSaysOfIt(t *testing.T) {
	labelled := func(key, value string) *unstructured.Unstructured {
		return inCluster(func(set *unstructured.Unstructured) { set.SetLabels(map[string]string{key: value}) })
	}
	refresh := "kubectl -n argocd annotate applications.argoproj.io root argocd.argoproj.io/refresh=normal"
	for name, test := range map[string]struct {
		set      *unstructured.Unstructured
		from     origins
		says     string
		refusals int
	}{
		"a label of the installation's own":              {labelled("example.com/app", "root"), origins{label: "example.com/app"}, "label applicationsets.argoproj.io web example.com/app-", 1},
		"a label that is not Argo CD's":                  {labelled("example.com/app", "root"), origins{}, "", 0},
		"the default label, given by name":               {labelled("app.kubernetes.io/instance", "root"), origins{label: "app.kubernetes.io/instance"}, `release "root"`, 1},
		"an Application that lists it, without a mark":   {inCluster(), origins{apps: []string{"argocd/root"}}, refresh, 1},
		"an Application that lists it and has marked it": {labelled("example.com/app", "root"), origins{label: "example.com/app", apps: []string{"argocd/root"}}, "example.com/app-", 1},
		"one of another namespace that has marked it":    {labelled("example.com/app", "team_root"), origins{label: "example.com/app", apps: []string{"team/root"}}, "example.com/app-", 1},
		"two that list it, one of which has marked it":   {labelled("example.com/app", "root"), origins{label: "example.com/app", apps: []string{"argocd/other", "argocd/root"}}, "Application argocd/other manages it", 2},
		"frozen, and an Application lists it":            {inCluster(frozen("f-1")), origins{apps: []string{"argocd/root"}}, refresh, 1},
	} {
		refusals := (&InCluster{test.set}).refusals(test.from)
		said := ""
		for _, r := range refusals {
			said += r.Summary + ": " + r.Detail + "\n"
		}
		if len(refusals) != test.refusals || !strings.Contains(said, test.says) {
			t.Errorf("%s: %d refusals, which do not say %q: %s", name, len(refusals), test.says, said)
		}
	}
}

func TestWhereASetComesFromIsAskedOfArgoCD(t *testing.T) {
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "argocd", "name": argoConfigMap},
		"data": map[string]any{"application.instanceLabelKey": "example.com/app"},
	}}
	lists := func(namespace, name string, resource map[string]any) *unstructured.Unstructured {
		app := owned(name)
		app.SetNamespace(namespace)
		app.Object["status"] = map[string]any{"resources": []any{map[string]any{"kind": "ConfigMap", "namespace": "argocd", "name": "web"}, resource}}
		return app
	}
	web := func(namespace string) map[string]any {
		return map[string]any{"group": "argoproj.io", "kind": "ApplicationSet", "namespace": namespace, "name": "web"}
	}
	ofTeam := func(set *unstructured.Unstructured) { set.SetNamespace("team") }
	for name, test := range map[string]struct {
		set     *unstructured.Unstructured
		objects []runtime.Object
		// forbidden are resources that may not be read in Argo CD's namespace.
		forbidden []string
		want      origins
	}{
		"nothing":                                     {inCluster(), nil, nil, origins{}},
		"an Application that deploys it":              {inCluster(), []runtime.Object{config, lists("argocd", "root", web("argocd")), owned("a")}, nil, origins{label: "example.com/app", apps: []string{"argocd/root"}}},
		"one that deploys another set of the name":    {inCluster(), []runtime.Object{lists("argocd", "root", web("team"))}, nil, origins{}},
		"one that deploys an Application of the name": {inCluster(), []runtime.Object{lists("argocd", "root", map[string]any{"group": "argoproj.io", "kind": "Application", "namespace": "argocd", "name": "web"})}, nil, origins{}},
		"a team's, by Applications of both namespaces": {inCluster(ofTeam), []runtime.Object{lists("team", "own", web("team")), lists("argocd", "root", web("team")), lists("argocd", "other", web("argocd"))},
			nil, origins{apps: []string{"argocd/root", "team/own"}}},
		"where nothing of Argo CD's may be read": {inCluster(ofTeam), []runtime.Object{config, lists("team", "own", web("team")), lists("argocd", "root", web("team"))},
			[]string{"configmaps", "applications"}, origins{apps: []string{"team/own"}}},
	} {
		c, cluster := moving(func(*fake.FakeDynamicClient) {}, test.objects...)
		for _, resource := range test.forbidden {
			cluster.PrependReactor("*", resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
				if action.GetNamespace() != "argocd" {
					return false, nil, nil
				}
				return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", nil)
			})
		}
		got, err := c.origins(t.Context(), &InCluster{test.set})
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v (%v), not %+v", name, got, err, test.want)
		}
	}
	c, cluster := moving(func(*fake.FakeDynamicClient) {})
	cluster.PrependReactor("list", "applications", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(applications.GroupResource(), "", nil)
	})
	if _, err := c.Refusals(t.Context(), &InCluster{inCluster()}); err == nil {
		t.Error("without a list of the Applications beside it nothing is known")
	}
}

func TestAnApplicationThatDeploysASetOfTheNameIntoAnotherClusterIsNoParent(t *testing.T) {
	named := func(name, server string) *unstructured.Unstructured {
		encoded := func(value string) string { return base64.StdEncoding.EncodeToString([]byte(value)) }
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"metadata": map[string]any{"namespace": "argocd", "name": "cluster-" + name, "labels": map[string]any{"argocd.argoproj.io/secret-type": "cluster"}},
			"data":     map[string]any{"name": encoded(name), "server": encoded(server)},
		}}
	}
	to := func(key, value string) map[string]any { return map[string]any{key: value} }
	for name, test := range map[string]struct {
		destination any
		forbidden   bool
		parent      bool
	}{
		"no destination":                      {nil, false, true},
		"an empty one":                        {map[string]any{"server": "", "name": "", "namespace": "argocd"}, false, true},
		"the server of Argo CD's own cluster": {to("server", "https://kubernetes.default.svc"), false, true},
		"that server, with a slash":           {to("server", "https://kubernetes.default.svc/"), false, true},
		"the name of Argo CD's own cluster":   {to("name", "in-cluster"), true, true},
		"another server":                      {to("server", "https://prod.example.com"), true, false},
		"another name":                        {to("name", "prod"), false, false},
		"a name that nothing has":             {to("name", "lost"), false, false},
		"a name of Argo CD's own cluster":     {to("name", "hub"), false, true},
		"a name, and no Secret may be read":   {to("name", "hub"), true, false},
	} {
		app := owned("root")
		app.Object["spec"] = map[string]any{"destination": test.destination}
		app.Object["status"] = map[string]any{"resources": []any{map[string]any{"group": "argoproj.io", "kind": "ApplicationSet", "namespace": "argocd", "name": "web"}}}
		c, cluster := moving(func(*fake.FakeDynamicClient) {}, app, named("hub", "https://kubernetes.default.svc"), named("prod", "https://prod.example.com"))
		if test.forbidden {
			cluster.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(secrets.GroupResource(), "", nil)
			})
		}
		refusals, err := c.Refusals(t.Context(), &InCluster{inCluster()})
		if err != nil || len(refusals) > 0 != test.parent {
			t.Errorf("%s: the refusals are %v (%v)", name, refusals, err)
		}
	}
}
