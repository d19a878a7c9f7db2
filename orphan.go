package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	// parentInterval is how often it is looked whether Terraform is still there.
	parentInterval = 500 * time.Millisecond
	// orphanGrace is what is left to the calls at hand, which the lost connection has cancelled:
	// time to write down what was reached and to release the lease.
	orphanGrace = 5 * time.Second
)

// endWithTerraform ends the process after Terraform, which ends its plugins when it ends itself
// but not when it is killed: the plugin would stay, waiting for calls for ever. Windows gives
// orphans no new parent, so there it has no effect.
func endWithTerraform() {
	// Terraform held the other end of our log. Its loss must not end us earlier.
	lost := make(chan os.Signal, 1)
	signal.Notify(lost, syscall.SIGPIPE)

	// go-plugin makes os.Stderr another pipe, which it reads itself, as soon as it serves.
	terraform, log := os.Getppid(), os.Stderr.Fd()
	go func() {
		// Of a Terraform that was killed before we came to look, only the log tells.
		for os.Getppid() == terraform && !unread(log) {
			time.Sleep(parentInterval)
		}
		time.Sleep(orphanGrace)
		os.Exit(1)
	}()
}
