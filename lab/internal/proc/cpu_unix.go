//go:build unix && !linux

package proc

import (
	"syscall"
	"time"
)

func ownCPU() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
