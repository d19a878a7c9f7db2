//go:build linux

package acceptance

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// instant is the moment of one request: before it has reached the API server, or when it has and the
// provider has not got the answer.
type instant struct {
	name  string
	phase int
	on    faultproxy.Match
	// skip is how many of these requests come before.
	skip  int
	after bool
	// adopts tells that the set has to be taken over afterwards.
	adopts bool
}

// TestAccKillBetweenTwoWrites kills all processes at the instants that random ones hardly ever meet:
// when one of two writes that belong together is done and the other one is not.
func TestAccKillBetweenTwoWrites(t *testing.T) {
	requireAcceptance(t)
	provider := buildProvider(t)
	for _, i := range []instant{
		{name: "before the record is written", phase: createPhase, on: faultproxy.On("configmaps", "create")},
		{name: "when the record is written and no Application", phase: createPhase, on: faultproxy.On("configmaps", "create"), after: true},
		{name: "when the first Application is created", phase: createPhase, on: creations, after: true},
		{name: "before the record says that the set is complete", phase: createPhase, on: faultproxy.On("configmaps", "update")},
		{name: "when the record is complete and the state not saved", phase: createPhase, on: faultproxy.On("configmaps", "update"), after: true, adopts: true},
		{name: "when an update is announced and not begun", phase: updatePhase, on: faultproxy.On("configmaps", "update"), after: true},
		{name: "when an Application has its new spec and the old deployment", phase: updatePhase, on: respecified, after: true},
		{name: "when the removed Application is on its way", phase: updatePhase, on: faultproxy.On("applications", "delete"), after: true},
		{name: "when an update is done and the state not saved", phase: updatePhase, on: faultproxy.On("configmaps", "update"), skip: 1, after: true},
		{name: "when the lease is gone and the record is not", phase: destroyPhase, on: faultproxy.On("configmaps", "delete")},
		{name: "when all is gone and the state not saved", phase: destroyPhase, on: faultproxy.On("configmaps", "delete"), after: true},
	} {
		t.Run(i.name, func(t *testing.T) {
			f := newFixture(t)
			x := f.faults(1)
			s := f.story(provider)
			s.set.Provider = x.through()
			for phase := range phaseCount {
				switch {
				case phase == updatePhase && i.phase != updatePhase:
					continue
				case phase != i.phase:
					s.run(phase, nil)
					continue
				}
				kill := strike{
					interruption: interruptions[slices.IndexFunc(interruptions, func(k interruption) bool { return k.name == "SIGKILL to the process group" })],
					phase:        phase, given: make(chan struct{}), words: i.name,
				}
				x.Add(faultproxy.Rule{On: i.on, Skip: i.skip, Times: 1, Do: func(w http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
					if i.after {
						faultproxy.HangAfter()(w, r, func(w http.ResponseWriter, r *http.Request) { forward(w, r); close(kill.given) })
						return
					}
					close(kill.given)
					faultproxy.Hang()(w, r, forward)
				}})
				s.run(phase, &kill)
				if s.strikes[0].missed {
					t.Error("the request has not come")
				}
			}
			if s.adopts != i.adopts {
				t.Errorf("it is %v that the set had to be taken over", s.adopts)
			}
		})
	}
}

// creations matches creations of Applications; a dry run creates nothing.
func creations(r *http.Request) bool {
	return faultproxy.On("applications", "create")(r) && !r.URL.Query().Has("dryRun")
}

// respecified matches the write of an Application that has the same source in the update, and another spec.
func respecified(r *http.Request) bool {
	return faultproxy.On("applications", "update")(r) && strings.HasSuffix(r.URL.Path, "-"+killRespecified[0])
}
