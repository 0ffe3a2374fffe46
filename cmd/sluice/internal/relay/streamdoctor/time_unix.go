//go:build unix

package streamdoctor

import (
	"time"

	"golang.org/x/sys/unix"
)

// ProcessTime is how much processor time this process has used.
func ProcessTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
