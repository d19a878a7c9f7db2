package controlplane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is a component that runs a shell script and is ready when the file "ready" exists
// beside its log.
func shell(t *testing.T, script string) component {
	dir := t.TempDir()
	return component{
		name: "shell", path: "/bin/sh", args: []string{"-c", script},
		env:          []string{"PATH=" + os.Getenv("PATH"), "DIR=" + dir},
		logFile:      filepath.Join(dir, "shell.log"),
		readyTimeout: 20 * time.Second,
		ready: func(context.Context) error {
			_, err := os.Stat(filepath.Join(dir, "ready"))
			return err
		},
	}
}

func TestStopEndsTheWholeProcessGroup(t *testing.T) {
	tests := map[string]struct {
		script string
		grace  time.Duration
	}{
		"a process that ends when asked":     {"sleep 600 & touch $DIR/ready; wait", stopGrace},
		"a process that ignores being asked": {"trap '' TERM; sleep 600 & touch $DIR/ready; wait; sleep 600", 100 * time.Millisecond},
		"without grace":                      {"sleep 600 & touch $DIR/ready; wait", 0},
		"a child that outlives its parent":   {"sleep 600 & touch $DIR/ready; exit 0", stopGrace},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := startProcess(shell(t, test.script))
			if err != nil {
				t.Fatal(err)
			}
			group := p.cmd.Process.Pid
			if err := p.waitReady(t.Context()); err != nil && !strings.Contains(err.Error(), "ended before it was ready") {
				t.Fatal(err)
			}
			if err := p.stop(test.grace); err != nil {
				t.Fatal(err)
			}
			if !groupEnds(group) {
				t.Errorf("something of the process group %d still runs", group)
			}
		})
	}
}

func TestWaitReadyExplainsItself(t *testing.T) {
	t.Run("a process that ends", func(t *testing.T) {
		p, err := startProcess(shell(t, "echo no such flag; exit 3"))
		if err != nil {
			t.Fatal(err)
		}
		err = p.waitReady(t.Context())
		wantWords(t, err, "shell ended before it was ready", "exit status 3", "no such flag")
	})
	t.Run("a process that never gets ready", func(t *testing.T) {
		c := shell(t, "echo still thinking; sleep 600")
		c.readyTimeout = 300 * time.Millisecond
		c.ready = func(context.Context) error { return errors.New("503: etcd is missing") }
		p, err := startProcess(c)
		if err != nil {
			t.Fatal(err)
		}
		defer p.stop(0) // its own test
		wantWords(t, p.waitReady(t.Context()), "shell is not ready after 300ms", "503: etcd is missing", "still thinking")
	})
	t.Run("a start that is given up", func(t *testing.T) {
		p, err := startProcess(shell(t, "sleep 600"))
		if err != nil {
			t.Fatal(err)
		}
		defer p.stop(0) // its own test
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantWords(t, p.waitReady(ctx), "shell was not ready yet when the start was given up")
	})
}

func TestLogTailIsTheEndOfALongLog(t *testing.T) {
	c := component{logFile: filepath.Join(t.TempDir(), "log")}
	var log strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&log, "line %d of a long log\n", i)
	}
	if err := os.WriteFile(c.logFile, []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(c.logTail(), "\n")
	if len(lines) != 40 || lines[0] != "line 4960 of a long log" || lines[39] != "line 4999 of a long log" {
		t.Errorf("the tail has %d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

const parentEnv = "CONTROLPLANE_TEST_PARENT"

// TestKilledParentTakesItsProcessesAlong kills a program (this test binary again) that has
// started a process, with a signal that it cannot handle.
func TestKilledParentTakesItsProcessesAlong(t *testing.T) {
	if os.Getenv(parentEnv) != "" {
		beParent(t)
		return
	}
	if runtime.GOOS != "linux" {
		return // only Linux tells children of the death of their parent
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestKilledParentTakesItsProcessesAlong$")
	parent.Env = append(os.Environ(), parentEnv+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(child, 0) != nil {
		t.Fatal("the process does not even run")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	if !groupEnds(child) {
		_ = syscall.Kill(-child, syscall.SIGKILL)
		t.Error("the process outlives the program that started it")
	}
}

func beParent(t *testing.T) {
	p, err := startProcess(shell(t, "exec sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(p.cmd.Process.Pid)
	<-p.done
}

// groupEnds says whether a process group is gone within some seconds. Members that have ended
// and that nobody has waited for do not count.
func groupEnds(group int) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if !groupRuns(group) {
			return true
		}
	}
	return false
}

func groupRuns(group int) bool {
	if errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
		return false
	}
	if runtime.GOOS != "linux" {
		return true
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		// pid (name) state parent group ...; the name may hold anything
		fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
		if fields[2] == strconv.Itoa(group) && fields[0] != "Z" {
			return true
		}
	}
	return false
}

func wantWords(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error lacks %q:\n%v", word, err)
		}
	}
}
