package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// RoomForDescriptors makes room for n descriptors, or as many as the process may have. The
// kernel doubles its table of them when it is full, and in a process of several threads it
// waits for all processors then: 10 ms and more, for which each accept at 256, 512 and so on
// stands still.
func RoomForDescriptors(n int) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && uint64(n) > limit.Cur {
		n = int(limit.Cur)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		return
	}
	defer f.Close()
	if fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, n-1); err == nil {
		unix.Close(fd)
	}
}
