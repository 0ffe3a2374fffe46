//go:build !linux

package proc

import (
	"errors"
	"os"
	"time"
)

// CPU is the user and system time of all threads of the calling process.
func CPU(pid int) (time.Duration, error) {
	if pid != 0 && pid != os.Getpid() {
		return 0, errors.ErrUnsupported
	}
	return ownCPU()
}

func read(pid int) (r Reading, err error) {
	r.cpu, err = CPU(pid)
	return r, err
}
