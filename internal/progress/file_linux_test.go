package progress

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAFullDiskIsToldInTheEnd(t *testing.T) {
	if err := write("/dev/full"); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("it says %v", err)
	}
}

// terminal makes a pseudo terminal: its path, and the side on which somebody looks at it.
func terminal(t *testing.T) (path string, screen *os.File) {
	t.Helper()
	// Without O_NONBLOCK there are no deadlines for reading.
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	raw, err := screen.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number int
	var failed error
	err = raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err != nil || failed != nil {
		t.Fatalf("unlocking the terminal: %v, %v", err, failed)
	}
	return fmt.Sprintf("/dev/pts/%d", number), screen
}

func TestATerminalShowsTheLinesWhileTheyAreWritten(t *testing.T) {
	path, screen := terminal(t)
	if err := screen.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	shown := bufio.NewReader(screen)
	f := Open(path)
	for _, line := range []string{"one", "two"} {
		f.Write(line)
		// A terminal begins each line at its left edge.
		if got, err := shown.ReadString('\n'); err != nil || got != line+"\r\n" {
			t.Errorf("it shows %q: %v", got, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestATerminalThatStandsStillHoldsNothingUp(t *testing.T) {
	path, _ := terminal(t)
	holdsNothingUp(t, path, "i/o timeout")
}
