//go:build linux

package acceptance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
	// signals is how many of them it is made of.
	signals int
	// deliver does it; terraform and the provider are the process group of the command. It returns how
	// many of the signals were sent before terraform had ended.
	deliver func(c *groupCommand, pause time.Duration) int
}

// interruptions are all kinds: what people, CI systems and the kernel do to processes.
var interruptions = []interruption{
	{"Ctrl-C", 1, func(c *groupCommand, _ time.Duration) int { return c.send(syscall.SIGINT) }},
	{"SIGKILL to the provider", 1, func(c *groupCommand, _ time.Duration) int { return c.killProvider() }},
	{"SIGKILL to terraform", 1, func(c *groupCommand, _ time.Duration) int { return c.killTerraform() }},
	{"SIGTERM to the process group", 1, func(c *groupCommand, _ time.Duration) int { return c.send(syscall.SIGTERM) }},
	{"Ctrl-C twice", 2, func(c *groupCommand, pause time.Duration) int {
		sent := c.send(syscall.SIGINT)
		c.lasts(pause)
		return sent + c.send(syscall.SIGINT)
	}},
	{"SIGKILL to the process group", 1, func(c *groupCommand, _ time.Duration) int { return c.send(syscall.SIGKILL) }},
}

// The parts of a run in which a strike may come. After its begin, a run is as long as the changes of
// the Applications that it has still to make.
const (
	begin = iota
	firstThird
	secondThird
	lastThird
	partCount
)

var partNames = [partCount]string{"at the begin", "in the first third", "in the second third", "in the last third"}

// strike is one interruption at one instant of one run. How fast a run is depends on what else the
// machine does, so that the instant is told by what the run shows of itself: see story.waitFor.
type strike struct {
	interruption
	phase int
	part  int
	// request, at the begin, is the number of the request of the provider that it comes with; 0 means
	// at a time from the start of terraform on.
	request int
	// share is that of the changes which the run has still to make that are made before, 0 to 1.
	share float64
	// late, 0 to 1, is how long after that: in seconds from the start of terraform on, or else in mean
	// times between two changes.
	late float64
	// pause is that between two signals.
	pause time.Duration
	// given, when not nil, takes the place of all that: it is closed when the strike is to come; words
	// say when that is.
	given chan struct{}
	words string
	// again interrupts the run after this one.
	again *strike
}

func (s strike) String() string {
	at := fmt.Sprintf("%.0f%% of a pace after %.0f%% of the changes", 100*s.late, 100*s.share)
	switch {
	case s.given != nil:
		at = s.words
	case s.part == begin && s.request > 0:
		at = fmt.Sprintf("at request %d", s.request)
	case s.part == begin:
		at = fmt.Sprintf("%.0f ms after the start", 1000*s.late)
	}
	return fmt.Sprintf("%s of %s, %s", s.name, phaseNames[s.phase], at)
}

const (
	// mostRequests is the number of the last request of a run that a strike may come with: the plan
	// makes some of them and the apply others, mostly before the first change of an Application.
	mostRequests = 24
	// longestPause is that between the two signals of somebody who is in a hurry. A run that has got
	// the first one may end soon after it.
	longestPause = 30 * time.Millisecond
)

// plannedKills are the strikes of so many stories, the same for the same seed, and the same of the
// first stories however many there are. Each phase is struck once, and one phase of each story is
// struck again when it is resumed.
//
// Kinds and parts are dealt like cards: twelve strikes, which are three stories, have each kind twice
// and each part of each phase once.
func plannedKills(seed uint64, stories int) [][phaseCount]strike {
	random := rand.New(rand.NewPCG(seed, 0))
	kinds := newDeck(random, interruptions...)
	var parts [phaseCount]*deck[int]
	for phase := range parts {
		parts[phase] = newDeck(random, begin, firstThird, secondThird, lastThird)
	}
	twice := random.IntN(phaseCount)
	all := make([][phaseCount]strike, stories)
	for n := range all {
		for phase := range all[n] {
			part := parts[phase].deal()
			if phase != (twice+n)%phaseCount {
				all[n][phase] = newStrike(random, kinds.deal(), phase, part)
				continue
			}
			other := parts[phase].deal()
			all[n][phase] = newStrike(random, kinds.deal(), phase, min(part, other))
			again := newStrike(random, kinds.deal(), phase, max(part, other))
			all[n][phase].again = &again
		}
	}
	return all
}

func newStrike(random *rand.Rand, kind interruption, phase, part int) strike {
	s := strike{interruption: kind, phase: phase, part: part, late: random.Float64(), pause: time.Duration(random.Int64N(int64(longestPause)))}
	thirds := random.Float64()
	switch {
	case part > begin:
		s.share = (float64(part-firstThird) + thirds) / float64(partCount-firstThird)
	case random.IntN(2) == 0:
		s.request = 1 + random.IntN(mostRequests)
	}
	return s
}

// deck deals its cards in random order, and then all of them once more.
type deck[C any] struct {
	random      *rand.Rand
	cards, left []C
}

func newDeck[C any](random *rand.Rand, cards ...C) *deck[C] {
	return &deck[C]{random: random, cards: cards}
}

func (d *deck[C]) deal() C {
	if len(d.left) == 0 {
		d.left = slices.Clone(d.cards)
		d.random.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	card := d.left[0]
	d.left = d.left[1:]
	return card
}

// send sends a signal to all processes of the group, unless terraform has ended: then it returns 0.
func (c *groupCommand) send(s syscall.Signal) int {
	if !c.running() || syscall.Kill(-c.cmd.Process.Pid, s) != nil {
		return 0
	}
	return 1
}

// killTerraform is send for terraform alone.
func (c *groupCommand) killTerraform() int {
	if !c.running() || c.cmd.Process.Kill() != nil {
		return 0
	}
	return 1
}

// killProvider kills the provider as soon as there is one: terraform starts it several times in a
// run. It returns 0 when terraform ends first.
func (c *groupCommand) killProvider() int {
	for ; c.running(); c.lasts(2 * time.Millisecond) {
		for _, pid := range c.members() {
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if strings.HasPrefix(string(comm), "terraform-provi") { // the kernel keeps 15 characters
				if syscall.Kill(pid, syscall.SIGKILL) == nil {
					return 1
				}
			}
		}
	}
	return 0
}

// lasts waits for so long; it is false when terraform ends before.
func (c *groupCommand) lasts(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.over:
		return false
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
