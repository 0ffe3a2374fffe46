package measure

import (
	"time"

	"golang.org/x/sys/windows"
)

// processCPU is the user and kernel time of all threads of this process. The
// system counts it in steps of about 16 ms.
func processCPU() (time.Duration, bool) {
	var created, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user); err != nil {
		return 0, false
	}
	return time.Duration(ticks(kernel)+ticks(user)) * 100, true
}

// ticks are units of 100 ns. Filetime.Nanoseconds would take the value for a
// date and subtract the epoch.
func ticks(t windows.Filetime) int64 {
	return int64(t.HighDateTime)<<32 | int64(t.LowDateTime)
}
