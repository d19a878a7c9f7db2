package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// component is one program of a cluster. Its ports and flags stay the same for the cluster's
// life, so that it can be stopped and started again.
type component struct {
	name string
	path string
	args []string
	env  []string
	// ready returns nil when the component serves. It is asked again and again, with a
	// context of a few seconds, until readyTimeout has passed.
	ready        func(ctx context.Context) error
	readyTimeout time.Duration
	logFile      string
}

const (
	readyPoll   = 50 * time.Millisecond
	stopGrace   = 5 * time.Second
	killTimeout = 10 * time.Second
)

// process is a component that runs.
type process struct {
	component component
	cmd       *exec.Cmd
	done      chan struct{} // closed when it has ended, err says how
	err       error
}

// spawner starts all processes from one operating system thread that never ends: the death of
// a parent *thread* is what Linux takes for the death of the parent (PR_SET_PDEATHSIG).
var spawner = func() chan<- func() {
	starts := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
}()

// startProcess starts c in a process group of its own. Its output is appended to its log file.
func startProcess(c component) (*process, error) {
	log, err := os.OpenFile(c.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.path, c.args...)
	cmd.Env = c.env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = processAttributes()
	started := make(chan error)
	spawner <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name, err)
	}
	p := &process{component: c, cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// waitReady waits until the component serves. Its error says what is not ready, why, and ends
// with the tail of the component's log.
func (p *process) waitReady(ctx context.Context) error {
	deadline, cancel := context.WithTimeout(ctx, p.component.readyTimeout)
	defer cancel()
	var last error
	for {
		attempt, cancelAttempt := context.WithTimeout(deadline, 3*time.Second)
		err := p.component.ready(attempt)
		cancelAttempt()
		if err == nil {
			return nil
		}
		// The answer to an attempt that was cut off by our own deadline explains nothing.
		if deadline.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready (%v). The end of its log:\n%s", p.component.name, p.err, p.component.logTail())
		case <-deadline.Done():
			reason := fmt.Sprintf("is not ready after %s", p.component.readyTimeout)
			if ctx.Err() != nil {
				reason = "was not ready yet when the start was given up"
			}
			return fmt.Errorf("%s %s: %w. The end of its log:\n%s", p.component.name, reason, last, p.component.logTail())
		case <-time.After(readyPoll):
		}
	}
}

// stop ends the process and everything in its process group: with SIGTERM first, if it is
// given a time of grace, then with SIGKILL.
func (p *process) stop(grace time.Duration) error {
	group := -p.cmd.Process.Pid
	if grace > 0 {
		_ = syscall.Kill(group, syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(grace):
		}
	}
	// What the process has left behind in its group (a git, a helm) goes too.
	if err := syscall.Kill(group, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("killing %s: %w", p.component.name, err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(killTimeout):
		return fmt.Errorf("%s (process %d) did not end when killed", p.component.name, p.cmd.Process.Pid)
	}
}

func (p *process) pause() error { return p.signal(syscall.SIGSTOP) }

func (p *process) resume() error { return p.signal(syscall.SIGCONT) }

// signal reaches the whole process group.
func (p *process) signal(s syscall.Signal) error {
	if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil {
		return fmt.Errorf("%s: %s: %w", p.component.name, s, err)
	}
	return nil
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

const logTailBytes = 16 << 10

// logTail is the end of the component's log, at most 40 lines.
func (c component) logTail() string {
	file, err := os.Open(c.logFile)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > logTailBytes {
		if _, err := file.Seek(-logTailBytes, io.SeekEnd); err != nil {
			return "(no log: " + err.Error() + ")"
		}
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	return tail(string(content), 40)
}
