//go:build unix

package progress

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// reader opens a FIFO without waiting for a writer.
func reader(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestAFifoThatSomebodyReadsGetsTheLines(t *testing.T) {
	path := fifo(t)
	lines := bufio.NewScanner(reader(t, path))
	f := Open(path)
	f.Write("one")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "one" {
		t.Errorf("read %q: %v", lines.Text(), lines.Err())
	}
}

func TestAFifoHoldsNothingUp(t *testing.T) {
	for name, c := range map[string]struct {
		path func() string
		says string
	}{
		"without a reader": {func() string { return fifo(t) }, "nobody reads"},
		"whose reader does not read": {func() string {
			path := fifo(t)
			reader(t, path)
			return path
		}, "i/o timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			holdsNothingUp(t, c.path(), c.says)
		})
	}
}

// holdsNothingUp fails unless more lines than anybody keeps for a reader are handed over at once, and Close says in time what has
// become of them.
func holdsNothingUp(t *testing.T, path, says string) {
	t.Helper()
	start := time.Now()
	f := Open(path)
	for range 2 * queueLength {
		f.Write(strings.Repeat("x", 100))
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("writing took %s", took)
	}
	if err := f.Close(); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("it says %v", err)
	}
	if took := time.Since(start); took > closePatience+2*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestAFifoWhoseReaderHasGoneEndsTheLines(t *testing.T) {
	path := fifo(t)
	r, err := os.OpenFile(path, os.O_RDWR, 0) // reading waits for the line
	if err != nil {
		t.Fatal(err)
	}
	f := Open(path)
	f.Write("one")
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	f.Write("two")
	if err := f.Close(); err == nil || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("it says %v", err)
	}
}
