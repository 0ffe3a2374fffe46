//go:build unix && !linux

package sys

import "syscall"

// The race detector knows the calls of package syscall that package net makes, and those of
// golang.org/x/sys/unix only among themselves.

// Recv reads from a socket that must be non-blocking; p must not be empty.
func Recv(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }

// Read is syscall.Read.
func Read(fd int, p []byte) (int, syscall.Errno) {
	n, err := syscall.Read(fd, p)
	errno, _ := err.(syscall.Errno)
	return n, errno
}

// Send writes to a socket that must be non-blocking; p must not be empty.
func Send(fd int, p []byte) (int, error) { return syscall.Write(fd, p) }
