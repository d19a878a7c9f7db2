package controlplane

import "syscall"

// processAttributes gives a process a group of its own and has the kernel kill it when this
// program dies without having stopped it.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
