package evidence

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// promptOf returns the descriptors of processes, with nameOf before their numbers, that never hold back a write
// (TCP_NODELAY, or no TCP), and false for those that may. Those that cannot be looked at are left out.
func promptOf(pids []int, nameOf func(pid int) string) map[string]bool {
	found := map[string]bool{}
	for _, pid := range pids {
		process, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		for number := range descriptorsOf(pid) {
			file, err := unix.PidfdGetfd(process, number, 0)
			if err != nil {
				continue
			}
			on, err := unix.GetsockoptInt(file, unix.IPPROTO_TCP, unix.TCP_NODELAY)
			unix.Close(file)
			found[nameOf(pid)+strconv.Itoa(number)] = err != nil || on != 0
		}
		unix.Close(process)
	}
	return found
}
