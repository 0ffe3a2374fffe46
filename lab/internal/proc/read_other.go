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
	used, err := CPU(pid)
	r.cpu = map[int]time.Duration{pid: used}
	return r, err
}

// Family is the process alone: its descendants are not known here.
func Family(pid int) []int { return []int{pid} }

// ReadOthers knows nothing here.
func ReadOthers() Others { return Others{} }

// Each knows nothing here.
func Each() map[int]time.Duration { return nil }
