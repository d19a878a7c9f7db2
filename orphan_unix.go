//go:build unix

package main

import "golang.org/x/sys/unix"

// unread tells that the file is a pipe that nobody reads from any more.
func unread(file uintptr) bool {
	polled := []unix.PollFd{{Fd: int32(file)}}
	n, err := unix.Poll(polled, 0)
	return err == nil && n > 0 && polled[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
