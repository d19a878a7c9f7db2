package progress

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes two lines, and returns what Close says.
func write(path string) error {
	f := Open(path)
	f.Write("one")
	f.Write("two")
	return f.Close()
}

func TestLinesAreAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "progress.log")
	for range 2 {
		if err := write(path); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil || string(content) != "one\ntwo\none\ntwo\n" {
		t.Errorf("the file has %q: %v", content, err)
	}
}

func TestAFileThatCannotBeWrittenIsToldInTheEnd(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ path, says string }{
		"a directory":                   {dir, "directory"},
		"a directory that is not there": {filepath.Join(dir, "no", "such", "file"), "no such file or directory"},
		"no name":                       {"", "no such file or directory"},
	} {
		if err := write(c.path); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLinesThatNobodyTakesAreDroppedAndCounted(t *testing.T) {
	f := &File{path: "x", lines: make(chan string, 1), ended: make(chan struct{})}
	f.Write("one")
	f.Write("two")
	f.Write("three")
	close(f.ended)
	if err := f.Close(); err == nil || !strings.Contains(err.Error(), "2 are missing") {
		t.Errorf("it says %v", err)
	}
}
