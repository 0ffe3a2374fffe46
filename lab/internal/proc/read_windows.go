package proc

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// read knows the times of the calling process, which the system counts in steps
// of about 16 ms.
func read(pid int) (Reading, error) {
	if pid != 0 && pid != os.Getpid() {
		return Reading{}, unsupported(pid)
	}
	var created, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user); err != nil {
		return Reading{}, os.NewSyscallError("GetProcessTimes", err)
	}
	return Reading{usage: usage{cpu: spent(kernel) + spent(user), user: spent(user), system: spent(kernel)}}, nil
}

// spent reads a duration in units of 100 ns. Filetime.Nanoseconds would take it
// for a date.
func spent(t windows.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
