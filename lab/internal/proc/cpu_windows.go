package proc

import (
	"syscall"
	"time"
)

func ownCPU() (time.Duration, error) {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0, err
	}
	var began, ended, kernel, user syscall.Filetime
	err = syscall.GetProcessTimes(self, &began, &ended, &kernel, &user)
	steps := func(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) } // of 100 ns
	return time.Duration(steps(kernel)+steps(user)) * 100, err
}
