package controlplane

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSweepRemovesOnlyDataWhoseOwnerIsGone(t *testing.T) {
	root := t.TempDir()
	make := func(name string, age time.Duration) string {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		lock := filepath.Join(dir, ownerLock)
		if err := os.WriteFile(lock, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(lock, then, then); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	abandoned := make(dataDirPrefix+"abandoned", time.Hour)
	alive := make(dataDirPrefix+"alive", time.Hour)
	unlock, err := TryLock(filepath.Join(alive, ownerLock))
	if err != nil || unlock == nil {
		t.Fatalf("locking: %v", err)
	}
	defer unlock()
	fresh := make(dataDirPrefix+"fresh", 0)
	foreign := make("something-else", time.Hour)

	sweepDataDirs(root)

	for dir, want := range map[string]bool{abandoned: false, alive: true, fresh: true, foreign: true} {
		if isDir(dir) != want {
			t.Errorf("%s: exists is %v, want %v", filepath.Base(dir), !want, want)
		}
	}
}

func TestTwoClustersCannotShareADirectory(t *testing.T) {
	dir := t.TempDir()
	_, unlock, err := dataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dataDir(dir); err == nil {
		t.Error("a directory in use is given out again")
	}
	unlock()
	_, unlock, err = dataDir(dir)
	if err != nil {
		t.Fatalf("a directory that is free again: %v", err)
	}
	unlock()
}

func TestPortsAreReservedUntilReleased(t *testing.T) {
	t.Setenv(CacheEnv, t.TempDir())
	var ports portSet
	seen := map[int]bool{}
	for range 50 {
		port, err := ports.take()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Errorf("port %d is given out twice", port)
		}
		seen[port] = true
	}
	ports.release()
	if len(ports.unlocks) != 0 {
		t.Error("release keeps locks")
	}
}
