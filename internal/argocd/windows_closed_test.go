package argocd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// stoppedClock is a clock that stands.
type stoppedClock struct{ at time.Time }

func (c stoppedClock) Now() time.Time                       { return c.at }
func (c stoppedClock) After(time.Duration) <-chan time.Time { return nil }

// projectServer has AppProjects, and argocd-cm, by their names. It notes what is asked, and answers with a status
// where one is given.
type projectServer struct {
	objects  map[string]object
	statuses map[string]int
	mu       sync.Mutex
	asked    []string
}

func (s *projectServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+name)
	w.Header().Set("Content-Type", "application/json")
	code, found := s.statuses[name], s.objects[name]
	if code == 0 && found == nil {
		code = http.StatusNotFound
	}
	if code != 0 {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(status(code, map[int]metav1.StatusReason{http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusForbidden: metav1.StatusReasonForbidden}[code], 0))
		return
	}
	_ = json.NewEncoder(w).Encode(found)
}

// appProject is one with a label and sync windows.
func appProject(name, team string, windows ...object) object {
	var all []any
	for _, w := range windows {
		all = append(all, w)
	}
	return object{"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
		"metadata": object{"name": name, "namespace": "argocd", "labels": object{"team": team}}, "spec": object{"syncWindows": all}}
}

// syncOf is the sync of an Application of an AppProject.
func syncOf(project, name string, manual bool) Sync {
	return Sync{Manual: manual, App: object{"metadata": object{"name": name}, "spec": object{"project": project, "destination": object{"name": "in-cluster"}}}}
}

func TestHeldBackTellsWhatWindowsHoldBackAndWhy(t *testing.T) {
	globals := object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "argocd-cm", "namespace": "argocd"},
		"data": object{"globalProjects": "- projectName: freeze\n  labelSelector:\n    matchLabels: {team: a}\n"}}
	noon := window("deny", "0 12 * * *", "1h", object{"applications": []any{"*-prod"}})
	objects := map[string]object{
		"argocd-cm": globals,
		"shop":      appProject("shop", "a", noon),
		"billing":   appProject("billing", "b", window("allow", "0 22 * * *", "1h", object{"manualSync": true})),
		"default":   appProject("default", "b"),
		"freeze":    appProject("freeze", "", window("deny", "15 12 * * *", "3h", object{"applications": []any{"frozen-*"}})),
		"broken":    appProject("broken", "b", window("deny", "noon", "1h")),
	}
	for _, c := range []struct {
		name     string
		syncs    []Sync
		statuses map[string]int
		// want has, for each reason, the AppProject, the Applications, the windows, each with its AppProject, and the hour of the end.
		want  []string
		asked []string
		fails bool
	}{
		{name: "nothing is to be synced", asked: nil},
		{name: "an AppProject without windows", syncs: []Sync{syncOf("", "a-prod", false)}, asked: []string{"GET default", "GET argocd-cm", "GET freeze"}},
		{
			name:  "a window that counts for some of the Applications",
			syncs: []Sync{syncOf("shop", "a-prod", false), syncOf("shop", "a-dev", false), syncOf("shop", "b-prod", true)},
			want:  []string{"shop [a-prod] shop:0 12 * * * 13", "shop [b-prod] shop:0 12 * * * 13"},
			asked: []string{"GET shop", "GET argocd-cm", "GET freeze"},
		},
		{
			name:  "several AppProjects, each asked for once, sorted",
			syncs: []Sync{syncOf("shop", "a-prod", false), syncOf("billing", "x", false), syncOf("billing", "y", false), syncOf("billing", "z", true)},
			want:  []string{"billing [x y] billing:0 22 * * * 22", "shop [a-prod] shop:0 12 * * * 13"},
			asked: []string{"GET billing", "GET shop", "GET argocd-cm", "GET freeze"},
		},
		{
			name:  "a window of a global AppProject, where it is inherited",
			syncs: []Sync{syncOf("shop", "frozen-prod", false), syncOf("default", "frozen-prod", false)},
			want:  []string{"shop [frozen-prod] shop:0 12 * * * freeze:15 12 * * * 15"},
			asked: []string{"GET default", "GET shop", "GET argocd-cm", "GET freeze"},
		},
		{
			name:  "a window that cannot be read",
			syncs: []Sync{syncOf("broken", "x", true)},
			want:  []string{"broken [x] broken:noon cannot parse schedule 'noon': expected exactly 5 fields, found 1: [noon]"},
			asked: []string{"GET broken", "GET argocd-cm", "GET freeze"},
		},
		{name: "an AppProject that does not exist", syncs: []Sync{syncOf("gone", "x", false)}, asked: []string{"GET gone"}},
		{name: "an AppProject that may not be read", syncs: []Sync{syncOf("shop", "a-prod", false)}, statuses: map[string]int{"shop": http.StatusForbidden},
			asked: []string{"GET shop"}, fails: true},
		{name: "a configuration of Argo CD that may not be read", syncs: []Sync{syncOf("shop", "a-prod", false)}, statuses: map[string]int{"argocd-cm": http.StatusForbidden},
			asked: []string{"GET shop", "GET argocd-cm"}, fails: true},
		{name: "an API server that is overloaded is asked once", syncs: []Sync{syncOf("shop", "a-prod", false)}, statuses: map[string]int{"shop": http.StatusServiceUnavailable},
			asked: []string{"GET shop"}, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &projectServer{objects: objects, statuses: c.statuses}
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			client, err := New(&rest.Config{Host: server.URL, QPS: -1}, "argocd")
			if err != nil {
				t.Fatal(err)
			}
			client.clock = stoppedClock{instant(t, "2026-01-14 12:30:00")}
			held, err := client.HeldBack(t.Context(), c.syncs)
			if (err != nil) != c.fails {
				t.Fatal(err)
			}
			var got []string
			for _, h := range held {
				words := []string{h.Project, fmt.Sprint(h.Apps)}
				for _, w := range h.Windows {
					words = append(words, w.Project+":"+w.Schedule)
				}
				if h.Err != nil {
					words = append(words, h.Err.Error())
				} else {
					words = append(words, h.Opens.Format("15"))
				}
				got = append(got, strings.Join(words, " "))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("held back is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if !slices.Equal(s.asked, c.asked) {
				t.Errorf("it asks %q, want %q", s.asked, c.asked)
			}
		})
	}
}
