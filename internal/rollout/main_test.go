package rollout

import (
	"flag"
	"os"
	"testing"
)

// TestMain checks each property more often than rapid does by itself; -rapid.checks=N still decides.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "1000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
