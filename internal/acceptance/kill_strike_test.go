//go:build linux

package acceptance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The phases of a story.
const (
	createPhase = iota
	updatePhase
	destroyPhase
	phaseCount
)

var phaseNames = [phaseCount]string{"create", "update", "destroy"}

// interruption is a way for a run of terraform to end before its time.
type interruption struct {
	name string
	// deliver does it; terraform and the provider are the process group of the command.
	deliver func(c *groupCommand, pause time.Duration)
}

// interruptions are all kinds: what people, CI systems and the kernel do to processes.
var interruptions = []interruption{
	{name: "Ctrl-C", deliver: func(c *groupCommand, _ time.Duration) { c.send(syscall.SIGINT) }},
	{name: "SIGKILL to the provider", deliver: func(c *groupCommand, _ time.Duration) { c.killProvider() }},
	{name: "SIGKILL to terraform", deliver: func(c *groupCommand, _ time.Duration) { _ = c.cmd.Process.Kill() }},
	{name: "SIGTERM to the process group", deliver: func(c *groupCommand, _ time.Duration) { c.send(syscall.SIGTERM) }},
	{name: "Ctrl-C twice", deliver: func(c *groupCommand, pause time.Duration) {
		c.send(syscall.SIGINT)
		time.Sleep(pause)
		c.send(syscall.SIGINT)
	}},
	{name: "SIGKILL to the process group", deliver: func(c *groupCommand, _ time.Duration) { c.send(syscall.SIGKILL) }},
}

// strike is one interruption at one instant of one phase.
type strike struct {
	interruption
	phase int
	// event is the number of the state of an Application, since the phase began, after which it
	// happens; 0 means at a time.
	event int
	// after is the time from the event, or from the start of terraform.
	after time.Duration
	// pause is that between two signals.
	pause time.Duration
	// request, when not nil, takes the place of event: it is closed when the request has come that
	// the strike waits for; words says which.
	request chan struct{}
	words   string
	// again interrupts the run after this one.
	again *strike
}

func (s strike) String() string {
	if s.request != nil {
		return fmt.Sprintf("%s of %s %s", s.name, phaseNames[s.phase], s.words)
	}
	at := "the start"
	if s.event > 0 {
		at = fmt.Sprintf("event %d", s.event)
	}
	return fmt.Sprintf("%s of %s, %s after %s", s.name, phaseNames[s.phase], s.after.Round(time.Millisecond), at)
}

// pace is how an undisturbed run went.
type pace struct {
	events int
	took   time.Duration
}

// strikes draws one strike for each phase, and a second one for every third. The kinds go round with
// the seed, a different one in each phase.
func strikes(seed uint64, undisturbed [phaseCount]pace) [phaseCount]strike {
	var all [phaseCount]strike
	random := rand.New(rand.NewPCG(seed, 0))
	for phase := range all {
		all[phase] = draw(random, seed+uint64(2*phase), phase, undisturbed[phase])
		if again := draw(random, random.Uint64(), phase, undisturbed[phase]); random.IntN(3) == 0 {
			all[phase].again = &again
		}
	}
	return all
}

// draw draws one strike: by time or by event, evenly over an undisturbed run.
func draw(random *rand.Rand, kind uint64, phase int, p pace) strike {
	s := strike{interruption: interruptions[kind%uint64(len(interruptions))], phase: phase}
	s.pause = time.Duration(random.Int64N(int64(1500 * time.Millisecond)))
	event, at := 1+random.IntN(max(1, p.events-1)), time.Duration(random.Int64N(int64(p.took)))
	late := time.Duration(random.Int64N(int64(300 * time.Millisecond)))
	switch random.IntN(4) {
	case 0:
		s.event, s.after = event, late
	case 1:
		s.event = event
	default:
		s.after = at
	}
	return s
}

// send is signal for processes that may have ended meanwhile.
func (c *groupCommand) send(s syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, s) }

// killProvider kills the provider as soon as there is one: terraform starts it several times in a
// run. Nothing happens when terraform ends first.
func (c *groupCommand) killProvider() {
	for ; c.running(); time.Sleep(2 * time.Millisecond) {
		for _, pid := range c.members() {
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if strings.HasPrefix(string(comm), "terraform-provi") { // the kernel keeps 15 characters
				if syscall.Kill(pid, syscall.SIGKILL) == nil {
					return
				}
			}
		}
	}
}

// running tells that terraform has not ended.
func (c *groupCommand) running() bool {
	select {
	case <-c.over:
		return false
	default:
		return true
	}
}

// members are the processes of the group that have not ended.
func (c *groupCommand) members() []int {
	var pids []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		var pid, parent, group int
		var state string
		// The name, in parentheses, may contain blanks.
		_, _ = fmt.Sscan(string(text), &pid)
		_, _ = fmt.Sscan(string(text[strings.LastIndexByte(string(text), ')')+1:]), &state, &parent, &group)
		if group == c.cmd.Process.Pid && state != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}
