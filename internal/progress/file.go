package progress

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// queueLength is how many lines may wait for a slow reader; more are dropped.
	queueLength = 4096
	// writePatience is how long a reader may take to make room for a line.
	writePatience = 2 * time.Second
	// closePatience is how long the lines that still wait may take in the end.
	closePatience = 3 * time.Second
)

// File takes lines and writes them beside the run: neither a FIFO that nobody reads, a terminal
// that stands still nor a full disk holds the run up. Lines are appended, each with one write, so
// that several sets may share a file.
type File struct {
	path  string
	lines chan string
	ended chan struct{}

	mu      sync.Mutex
	err     error
	dropped int
}

// Open begins to write to a file, which is made if it does not exist, a FIFO or a terminal. It
// returns at once, and what goes wrong is told by Close.
func Open(path string) *File {
	f := &File{path: path, lines: make(chan string, queueLength), ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		f.run()
	}()
	return f
}

// Write hands a line over. It never waits; nobody may call it after Close.
func (f *File) Write(line string) {
	select {
	case f.lines <- line + "\n":
	default:
		f.mu.Lock()
		f.dropped++
		f.mu.Unlock()
	}
}

// Close writes what still waits, and tells what went wrong since Open. It takes closePatience at most.
func (f *File) Close() error {
	close(f.lines)
	select {
	case <-f.ended:
	case <-time.After(closePatience):
		return fmt.Errorf("%s: it does not take what is written to it", f.path)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && f.dropped > 0 {
		return fmt.Errorf("%s: it took the lines too slowly, %d are missing", f.path, f.dropped)
	}
	return f.err
}

func (f *File) run() {
	err := f.write()
	f.mu.Lock()
	f.err = err
	f.mu.Unlock()
	for range f.lines { // what cannot be written is dropped
		continue
	}
}

// write writes all lines, up to the first error.
func (f *File) write() (err error) {
	// Without O_NONBLOCK, opening a FIFO waits for its reader.
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o644)
	if errors.Is(err, syscall.ENXIO) {
		return fmt.Errorf("%w (nobody reads this FIFO, or there is no terminal)", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for line := range f.lines {
		// Regular files have no deadlines, and need none.
		_ = file.SetWriteDeadline(time.Now().Add(writePatience))
		if _, err := file.WriteString(line); err != nil {
			return err
		}
	}
	return nil
}
