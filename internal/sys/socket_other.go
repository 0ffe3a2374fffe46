//go:build unix && !linux

package sys

import "golang.org/x/sys/unix"

// Recv reads from a socket that must be non-blocking; p must not be empty.
func Recv(fd int, p []byte) (int, error) { return unix.Read(fd, p) }

// Send writes to a socket that must be non-blocking; p must not be empty.
func Send(fd int, p []byte) (int, error) { return unix.Write(fd, p) }
