package controlplane

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Ports come from below the ephemeral range (32768 up on Linux): a port that the kernel may
// hand to any outgoing connection could be gone again before its component listens on it.
const (
	firstPort = 20000
	lastPort  = 32000
)

// portSet hands out free ports of 127.0.0.1. Each stays reserved against other clusters on
// this machine, by a lock file, until release.
type portSet struct {
	unlocks []func()
}

func (s *portSet) take() (int, error) {
	root, err := cacheRoot()
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(root, "ports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	var lastErr error
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		unlock, err := TryLock(filepath.Join(dir, strconv.Itoa(port)))
		if err != nil {
			lastErr = err
			continue
		}
		if unlock == nil {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			lastErr = err
			unlock()
			continue
		}
		listener.Close()
		s.unlocks = append(s.unlocks, unlock)
		return port, nil
	}
	return 0, fmt.Errorf("no free port between %d and %d on 127.0.0.1: %w", firstPort, lastPort,
		errors.Join(errors.New("200 tries"), lastErr))
}

func (s *portSet) release() {
	for _, unlock := range s.unlocks {
		unlock()
	}
	s.unlocks = nil
}
