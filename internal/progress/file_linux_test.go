package progress

import (
	"strings"
	"testing"
)

func TestAFullDiskIsToldInTheEnd(t *testing.T) {
	if err := write("/dev/full"); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("it says %v", err)
	}
}
