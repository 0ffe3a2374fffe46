//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
	"time"
)

func read(pid int) (Reading, error) {
	if pid != 0 && pid != os.Getpid() {
		return Reading{}, unsupported(pid)
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return Reading{}, os.NewSyscallError("getrusage", err)
	}
	r := Reading{usage: usage{user: time.Duration(u.Utime.Nano()), system: time.Duration(u.Stime.Nano())}}
	r.usage.cpu = r.usage.user + r.usage.system
	r.before.switches = &switches{uint64(u.Nvcsw), uint64(u.Nivcsw)}
	r.after = r.before
	return r, nil
}
