package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// listen returns options that keep what is told.
func listen(opt Options, heard *[]Note) Options {
	opt.Notes = func(n Note) { *heard = append(*heard, n) }
	return opt
}

func TestARunThatIsSilentSaysWhatItWaitsFor(t *testing.T) {
	var heard []Note
	opt := listen(deskOptions(), &heard)
	opt.Pulse = 20 * time.Second
	d := newDesk(t, planOf("a b c d e"), opt)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		d.see(name, old)
	}
	d.listed()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		d.sync(name)
	}
	said := len(heard)
	d.pass(19 * time.Second)
	if len(heard) != said {
		t.Fatalf("too early: %v", heard[said:])
	}
	if at, ok := d.e.nextWake(); !ok || at.After(heard[said-1].At.Add(opt.Pulse)) {
		t.Errorf("the next look is at %s, the last note was at %s", at, heard[said-1].At)
	}
	d.pass(time.Second)
	if len(heard) != said+1 {
		t.Fatalf("%d notes after %s of silence", len(heard)-said, opt.Pulse)
	}
	n := heard[said]
	if n.Moment != MomentWaiting || n.App != "" || !strings.HasPrefix(n.Text, "waiting for a (") || !strings.HasSuffix(n.Text, ", 2 more") || n.Step != "step 01: x" {
		t.Errorf("it says %+v", n)
	}
	d.pass(opt.Pulse)
	if len(heard) != said+2 {
		t.Errorf("%d notes after twice that", len(heard)-said)
	}
	if slices.ContainsFunc(d.e.outcome().Log, func(n Note) bool { return n.Moment == MomentWaiting }) {
		t.Error("the log has what was waited for")
	}
}

func TestNotesCountWhatIsDone(t *testing.T) {
	var heard []Note
	p := planOf("a b", "c")
	p.Apps[0].Proven, p.Apps[2].Proven = true, true
	d := newDesk(t, p, listen(deskOptions(), &heard))
	d.see("a", there)
	d.see("b", old)
	d.see("c", there)
	d.listed()
	if n := heard[0]; n.Moment != MomentBegins || n.Done != 1 || n.Step != "step 01: x" {
		t.Errorf("the step begins with %+v", n)
	}
}

func TestNotesHaveNoCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"main of https://user:pass@git/x is pinned": "main of https://git/x is pinned",
		"ssh://git@host/y":                          "ssh://host/y",
		"https://git/x a@b.c":                       "https://git/x a@b.c",
		"nothing":                                   "nothing",
	} {
		if got := WithoutCredentials(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
