package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane"
)

const (
	upTimeout   = 5 * time.Minute
	downTimeout = time.Minute
	poll        = 100 * time.Millisecond
)

// session is a control plane that others find by a directory: a lock that is held as long as
// it runs, and a file that says which process runs it.
type session struct {
	dir    string
	unlock func()
}

// state is what a session's file says.
type state struct {
	PID        int    `json:"pid"`
	Kubeconfig string `json:"kubeconfig"` // empty until the control plane is ready
}

func (s session) data() string      { return filepath.Join(s.dir, "data") }
func (s session) stateFile() string { return filepath.Join(s.dir, "state.json") }
func (s session) lockFile() string  { return filepath.Join(s.dir, "lock") }
func (s session) logFile() string   { return filepath.Join(s.dir, "controlplane.log") }

// openSession makes this process the one that runs the control plane of dir.
func openSession(dir string) (*session, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s := &session{dir: dir}
	if s.unlock, err = controlplane.TryLock(s.lockFile()); err != nil {
		return nil, err
	}
	if s.unlock == nil {
		return nil, s.runsAlready()
	}
	// A killed predecessor has left its data behind.
	if err := os.RemoveAll(s.data()); err != nil {
		return nil, err
	}
	return s, s.write(state{PID: os.Getpid()})
}

func (s *session) announce(kubeconfig string) error {
	return s.write(state{PID: os.Getpid(), Kubeconfig: kubeconfig})
}

// write replaces the file in one step, since others read it at any time.
func (s *session) write(content state) error {
	encoded, err := json.Marshal(content)
	if err != nil {
		return err
	}
	tmp := s.stateFile() + ".tmp"
	if err := os.WriteFile(tmp, encoded, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, s.stateFile())
}

func (s *session) read() (state, error) {
	var content state
	encoded, err := os.ReadFile(s.stateFile())
	if err != nil {
		return content, err
	}
	return content, json.Unmarshal(encoded, &content)
}

func (s *session) runsAlready() error {
	content, err := s.read()
	if err != nil {
		return fmt.Errorf("a control plane is just starting or stopping in %s", s.dir)
	}
	return fmt.Errorf("a control plane runs in %s already (process %d, KUBECONFIG=%s); end it with: controlplane down --dir %s",
		s.dir, content.PID, content.Kubeconfig, s.dir)
}

func (s *session) close() error {
	err := os.Remove(s.stateFile())
	s.unlock()
	return err
}

// upDetached starts "controlplane up" in a session of its own and returns when it is ready.
// The build happens here, where its progress can be seen.
func upDetached(ctx context.Context, dir, argoCD string) error {
	if _, err := controlplane.BuildArgoCD(ctx, argoCD, os.Stderr); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	s := session{dir: dir}
	if unlock, err := controlplane.TryLock(s.lockFile()); err != nil {
		return err
	} else if unlock == nil {
		return s.runsAlready()
	} else {
		unlock()
	}
	exited, err := s.spawn(argoCD)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	for {
		if content, err := s.read(); err == nil && content.Kubeconfig != "" {
			fmt.Printf("export KUBECONFIG=%s\n", content.Kubeconfig)
			return nil
		}
		select {
		case err := <-exited:
			log, _ := os.ReadFile(s.logFile()) // shown if it can be read
			return fmt.Errorf("the control plane did not start (%w):\n%s", err, log)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the control plane in %s is not ready: %w; see %s", dir, ctx.Err(), s.logFile()),
				down(context.WithoutCancel(ctx), dir))
		case <-time.After(poll):
		}
	}
}

// spawn starts the background process. Its end is sent to exited.
func (s session) spawn(argoCD string) (exited <-chan error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(s.logFile())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(self, "up", "--dir", s.dir, "--argocd", argoCD)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(cmd.Wait(), errors.New("its process has ended")) }()
	return ended, nil
}

// down ends the control plane of dir and removes what it has left there. It is no error that
// nothing runs.
func down(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return nil
	}
	s := session{dir: dir}
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	signalled := false
	for {
		unlock, err := controlplane.TryLock(s.lockFile())
		if err != nil {
			return err
		}
		if unlock != nil {
			defer unlock()
			return s.clean()
		}
		// The lock is held, so the process that the file names is the right one.
		if content, err := s.read(); err == nil && !signalled {
			if err := syscall.Kill(content.PID, syscall.SIGTERM); err != nil {
				return fmt.Errorf("ending the control plane in %s (process %d): %w", dir, content.PID, err)
			}
			signalled = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the control plane in %s does not end: %w; see %s", dir, ctx.Err(), s.logFile())
		case <-time.After(poll):
		}
	}
}

// clean removes what a session keeps in its directory, and the directory if nothing else is in
// it.
func (s session) clean() error {
	for _, path := range []string{s.data(), s.stateFile(), s.logFile(), s.lockFile()} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
		return err
	}
	return os.Remove(s.dir)
}
