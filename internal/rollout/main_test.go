package rollout

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
)

// histories counts the random rollouts of this process.
var histories atomic.Int64

// TestMain checks each property so often that all of them together see more than 10,000 histories;
// -rapid.checks=N still decides. The seed is told, so that a run can be repeated exactly with -rapid.seed=N.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	defaults := map[string]string{"rapid.checks": "1700", "rapid.seed": fmt.Sprint(rand.Uint64N(1 << 53))}
	for name, value := range defaults {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if n := histories.Load(); n > 0 {
		fmt.Printf("note: %d random rollouts; the same again: -rapid.checks=%s -rapid.seed=%s\n", n, flag.Lookup("rapid.checks").Value, flag.Lookup("rapid.seed").Value)
	}
	os.Exit(code)
}
