package argocd

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

func TestProjectPermitsSource(t *testing.T) {
	for _, test := range []struct {
		name     string
		patterns []string
		repo     string
		want     bool
	}{
		{"a star permits everything", []string{"*"}, "https://git.example.com/a/b.git", true},
		{"nothing permits nothing", nil, "https://git.example.com/a", false},
		{"the .git at the end and upper case make no difference", []string{"https://Git.example.com/A.git"}, "https://git.example.com/a", true},
		{"a star does not match a slash", []string{"https://git.example.com/*"}, "https://git.example.com/a/b", false},
		{"two stars do", []string{"https://git.example.com/**"}, "https://git.example.com/a/b", true},
		{"a deny pattern wins over a star", []string{"*", "!https://git.example.com/secret"}, "https://git.example.com/secret.git", false},
		{"a deny pattern that does not apply permits by itself, as in Argo CD", []string{"!https://git.example.com/secret"}, "https://git.example.com/a", true},
		{"the order of a deny pattern makes no difference", []string{"!https://git.example.com/secret", "*"}, "https://git.example.com/secret", false},
		{"ssh in both spellings is the same", []string{"ssh://git@example.com/a/b.git"}, "git@example.com:a/b", true},
		{"braces are no alternatives: Argo CD normalises them away", []string{"https://git.example.com/{a,b}"}, "https://git.example.com/b", false},
		{"a question mark is one character", []string{"https://git.example.com/?"}, "https://git.example.com/b", true},
		{"a pattern that does not compile matches nothing", []string{"https://git.example.com/["}, "https://git.example.com/a", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := (project{sourceRepos: test.patterns}).permitsSource(test.repo); got != test.want {
				t.Errorf("%v and %s: %v, want %v", test.patterns, test.repo, got, test.want)
			}
		})
	}
}

func TestProjectPermitsDestination(t *testing.T) {
	own := cluster{Name: inClusterName, Server: inClusterServer}
	prod := cluster{Name: "prod", Server: "https://prod.example.com", project: "shop"}
	destination := func(server, name, namespace string) map[string]any {
		return map[string]any{"server": server, "name": name, "namespace": namespace}
	}
	for _, test := range []struct {
		name      string
		p         project
		c         cluster
		namespace string
		want      bool
	}{
		{"by server and namespace", project{destinations: []map[string]any{destination(inClusterServer, "", "shop")}}, own, "shop", true},
		{"another namespace", project{destinations: []map[string]any{destination(inClusterServer, "", "shop")}}, own, "kube-system", false},
		{"by name", project{destinations: []map[string]any{destination("", "prod", "*")}}, prod, "shop", true},
		{"a glob of servers crosses slashes", project{destinations: []map[string]any{destination("https://*", "", "team-*")}}, prod, "team-a", true},
		{"a denied namespace", project{destinations: []map[string]any{destination("*", "", "*"), destination("*", "", "!kube-system")}}, own, "kube-system", false},
		{"a namespace beside the denied one", project{destinations: []map[string]any{destination("*", "", "!kube-system")}}, own, "shop", true},
		{"a denied server", project{destinations: []map[string]any{destination("*", "", "*"), destination("!https://prod.example.com", "", "*")}}, prod, "shop", false},
		{"a denied name", project{destinations: []map[string]any{destination("*", "", "*"), destination("", "!prod", "*")}}, prod, "shop", false},
		{"no destinations", project{}, own, "shop", false},
		{"only clusters of the project: one that is", project{name: "shop", onlyOwnClusters: true, destinations: []map[string]any{destination("*", "", "*")}}, prod, "shop", true},
		{"only clusters of the project: one that is not", project{name: "shop", onlyOwnClusters: true, destinations: []map[string]any{destination("*", "", "*")}}, own, "shop", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.p.permitsDestination(test.c, test.namespace); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestProjectPermitsNamespace(t *testing.T) {
	p := project{sourceNamespaces: []string{"team-*", "/^ops-[0-9]+$/"}}
	for namespace, want := range map[string]bool{"team-a": true, "ops-1": true, "ops-x": false, "default": false} {
		if got := p.permitsNamespace(namespace); got != want {
			t.Errorf("%s: %v, want %v", namespace, got, want)
		}
	}
}

func TestDestinationIsFoundAsArgoCDFindsIt(t *testing.T) {
	known := destinations{
		{Name: "prod", Server: "https://prod.example.com"},
		{Name: "twin", Server: "https://a.example.com"}, {Name: "twin", Server: "https://b.example.com"},
	}.withOwn()
	for _, test := range []struct {
		name        string
		destination map[string]any
		server      string
		message     string
	}{
		{"by server, with a slash too many", map[string]any{"server": "https://prod.example.com/"}, "https://prod.example.com", ""},
		{"by name", map[string]any{"name": "prod"}, "https://prod.example.com", ""},
		{"Argo CD's own cluster by server", map[string]any{"server": inClusterServer}, inClusterServer, ""},
		{"Argo CD's own cluster by name", map[string]any{"name": inClusterName}, inClusterServer, ""},
		{"neither", map[string]any{"namespace": "x"}, "", "names no cluster"},
		{"both", map[string]any{"server": inClusterServer, "name": inClusterName}, "", "only one of them"},
		{"an unknown name", map[string]any{"name": "gone"}, "", "knows no cluster gone"},
		{"an unknown server", map[string]any{"server": "https://gone.example.com"}, "", "https://gone.example.com"},
		{"a name that two clusters have", map[string]any{"name": "twin"}, "", "2 clusters have the name twin"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := known.find(test.destination)
			if got.Server != test.server || (test.message == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), test.message)) {
				t.Errorf("got %+v, %v; want %q, %q", got, err, test.server, test.message)
			}
		})
	}
	renamed := destinations{{Name: "hub", Server: inClusterServer}}.withOwn()
	if c, err := renamed.find(map[string]any{"name": inClusterName}); err != nil || c.Name != "hub" || len(renamed) != 1 {
		t.Errorf("with a Secret for its own cluster, in-cluster is %+v, %v", c, err)
	}
}

func TestClusterSecretGivesNothingButNameServerAndProject(t *testing.T) {
	got := readCluster(map[string]any{"data": map[string]any{
		"name": "cHJvZA==", "server": "aHR0cHM6Ly9wcm9kLw==", "project": "c2hvcA==", "config": "eyJiZWFyZXJUb2tlbiI6InNlY3JldCJ9",
	}})
	if want := (cluster{Name: "prod", Server: "https://prod", project: "shop"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRepositoryCredentialsDoNotReachMessages(t *testing.T) {
	for _, repo := range []string{"https://user:hunter2@git.example.com/a", "https://hunter2@git.example.com/a", "https://user:%zzhunter2@git.example.com/a"} {
		spec := map[string]any{"source": map[string]any{"repoURL": repo}}
		reasons := strings.Join(project{name: "shop"}.check(spec, "argocd", "argocd"), "\n")
		if strings.Contains(reasons, "hunter2") || !strings.Contains(reasons, "https://git.example.com/a is not permitted") {
			t.Errorf("the message is %q", reasons)
		}
	}
}

func TestGlobalProjectsAddToThoseThatTheySelect(t *testing.T) {
	selector, err := labels.Parse("team=a")
	if err != nil {
		t.Fatal(err)
	}
	globals := globalProjects{{selector: selector, project: project{name: "global", sourceRepos: []string{"https://global"}}}}
	object := func(name, team string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"name": name, "labels": map[string]any{"team": team}},
			"spec":     map[string]any{"sourceRepos": []any{"https://own"}},
		}
	}
	if p := globals.apply(object("shop", "a")); !p.permitsSource("https://global") || !p.permitsSource("https://own") {
		t.Errorf("a selected project permits %v", p.sourceRepos)
	}
	if p := globals.apply(object("shop", "b")); p.permitsSource("https://global") {
		t.Errorf("a project that is not selected permits %v", p.sourceRepos)
	}
	if p := globals.apply(object("global", "a")); len(p.sourceRepos) != 1 {
		t.Errorf("a global project adds to itself: %v", p.sourceRepos)
	}
}

func TestNothingIsInheritedFromWhatFollowsAMissingGlobalProject(t *testing.T) {
	selects := func(text string) labels.Selector {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return selector
	}
	global := func(name, window string) project {
		return project{name: name, sourceRepos: []string{"https://" + name}, windows: SyncWindows{{Project: name, Schedule: window}}}
	}
	globals := globalProjects{
		{selector: selects("team"), project: global("first", "1 * * * *")},
		{selector: selects("team=a"), project: project{name: "gone"}, missing: true},
		{selector: selects("team"), project: global("last", "2 * * * *")},
	}
	for team, want := range map[string]string{"a": "[0 * * * * 1 * * * *]", "b": "[0 * * * * 1 * * * * 2 * * * *]"} {
		p := globals.apply(map[string]any{
			"metadata": map[string]any{"name": "shop", "labels": map[string]any{"team": team}},
			"spec":     map[string]any{"syncWindows": []any{map[string]any{"kind": "deny", "schedule": "0 * * * *", "duration": "1h"}}},
		})
		var got []string
		for _, w := range p.windows {
			got = append(got, w.Schedule)
		}
		if fmt.Sprint(got) != want || p.permitsSource("https://last") != (team == "b") {
			t.Errorf("a project of team %s has the windows %v, want %s, and permits %v", team, got, want, p.sourceRepos)
		}
	}
}
