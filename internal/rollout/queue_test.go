package rollout

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// manyAtOnce is a step of more Applications than requests can be under way, none of which exists yet.
func manyAtOnce(t *testing.T, more int) *desk {
	names := make([]string, maxRequests+more)
	for i := range names {
		names[i] = fmt.Sprintf("app-%03d", i)
	}
	d := newDesk(t, planOf(strings.Join(names, " ")), deskOptions())
	d.listed()
	return d
}

func TestNoMoreIsStartedThanCanBeAskedFor(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *desk){
		"an answer makes room for the next one": func(t *testing.T, d *desk) {
			d.accept(d.asked("app-000", Write))
			d.asked(fmt.Sprintf("app-%03d", maxRequests), Write)
		},
		"what has not been asked for when one fails never is": func(t *testing.T, d *desk) {
			d.answer(Result{Action: d.asked("app-000", Write), Err: errors.New("refused")})
			for i := 1; i < maxRequests; i++ {
				d.accept(d.asked(fmt.Sprintf("app-%03d", i), Write))
			}
			d.quiet()
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := manyAtOnce(t, 10)
			if len(d.pending) != maxRequests {
				t.Fatalf("%d requests at once, not %d", len(d.pending), maxRequests)
			}
			test(t, d)
		})
	}
}

// A refresh may wait for its turn among requests of ours for longer than Argo CD may take.
func TestArgoCDIsSilentOnlySinceItWasAsked(t *testing.T) {
	d := newDesk(t, planOf("a"), deskOptions())
	d.see("a", old)
	d.listed()
	d.sync("a")
	d.see("a", succeeded)
	d.pass(quietDelay)
	refresh := d.asked("a", Refresh)
	d.pass(refreshTimeout + time.Minute)
	d.accept(refresh)
	d.pass(refreshTimeout - 1)
	d.unfailed()
	d.pass(1)
	d.failed("a", KindSilent, "a refresh asked for 2m0s ago")
}
