//go:build linux || freebsd || dragonfly

package socket

import "golang.org/x/sys/unix"

func accept(fd int) (int, unix.Sockaddr, error) {
	return unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
}
