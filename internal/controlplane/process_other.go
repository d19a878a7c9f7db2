//go:build !linux

package controlplane

import "syscall"

// processAttributes gives a process a group of its own.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
