//go:build unix

package cli

import "golang.org/x/sys/unix"

// outputClosed reports whether nothing reads standard output or standard error any more.
func outputClosed() bool {
	fds := []unix.PollFd{{Fd: 1, Events: unix.POLLOUT}, {Fd: 2, Events: unix.POLLOUT}}
	_, err := unix.Poll(fds, 0)
	return err == nil && (fds[0].Revents|fds[1].Revents)&(unix.POLLERR|unix.POLLHUP) != 0
}
