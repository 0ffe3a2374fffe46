package evidence

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// promptOf returns the descriptors of processes that never hold back a write (TCP_NODELAY, or no TCP), and
// false for those that may. Those that cannot be looked at are left out.
func promptOf(pids []int) map[string]bool {
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
			name := strconv.Itoa(number)
			before, known := found[name]
			found[name] = (before || !known) && (err != nil || on != 0)
		}
		unix.Close(process)
	}
	return found
}
