//go:build unix

package access

import (
	"errors"
	"syscall"
)

// Descriptors is how many the process may have, 0 for no known limit.
func Descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur <= 0 || uint64(limit.Cur) > 1<<30 {
		return 0
	}
	return int(limit.Cur)
}

// scarce reports whether so many descriptors are in use: a new one has the lowest number that
// is free.
func scarce(most int) bool {
	fd, err := syscall.Open("/", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return errors.Is(err, syscall.EMFILE)
	}
	_ = syscall.Close(fd) // a directory is closed whatever it returns
	return fd >= most
}
