//go:build unix

package listen

import "syscall"

// descriptors is how many the process may have, 0 for no known limit.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur <= 0 || uint64(limit.Cur) > 1<<30 {
		return 0
	}
	return int(limit.Cur)
}
