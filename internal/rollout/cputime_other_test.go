//go:build !unix

package rollout

import (
	"testing"
	"time"
)

var processBegan = time.Now()

// cpuTime is the time since the process began, where that of the processor is not known.
func cpuTime(testing.TB) time.Duration { return time.Since(processBegan) }
