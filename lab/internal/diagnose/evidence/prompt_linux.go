package evidence

import (
	"fmt"
	"os"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"
)

// connectionsOf returns the descriptors of processes, with nameOf before their numbers: which never hold back a write
// (TCP_NODELAY, or no TCP), wake a poller, ask for a name, or are of a port on which one of them listens. Those that
// cannot be looked at are left out. No thread waits for a name over what a poller watches: nginx keeps it open.
func connectionsOf(pids []int, nameOf func(pid int) string) map[string]connection {
	found, listens := map[string]connection{}, map[int]bool{}
	for _, pid := range pids {
		process, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		for number, path := range descriptorsOf(pid) {
			file, err := unix.PidfdGetfd(process, number, 0)
			if err != nil {
				continue
			}
			on, err := unix.GetsockoptInt(file, unix.IPPROTO_TCP, unix.TCP_NODELAY)
			to, _ := os.Readlink(path)
			c := connection{prompt: err != nil || on != 0, wakes: to == "anon_inode:[eventfd]"}
			c.port = portOf(unix.Getsockname(file))
			if kind, _ := unix.GetsockoptInt(file, unix.SOL_SOCKET, unix.SO_TYPE); kind == unix.SOCK_DGRAM && portOf(unix.Getpeername(file)) == 53 && !polled(pid, number) {
				c.asks = 1e-9 // before the first call
			}
			if listening, _ := unix.GetsockoptInt(file, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); listening != 0 {
				listens[c.port] = true
			}
			found[nameOf(pid)+strconv.Itoa(number)] = c
			unix.Close(file)
		}
		unix.Close(process)
	}
	for name, c := range found {
		c.served = c.port > 0 && listens[c.port]
		found[name] = c
	}
	return found
}

// polled reports whether an epoll of the process watches a descriptor: proc_pid_fdinfo(5).
func polled(pid, number int) bool {
	watches := regexp.MustCompile(fmt.Sprintf(`(?m)^tfd: *%d `, number))
	for file := range descriptorsOf(pid) {
		if about, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, file)); watches.Match(about) {
			return true
		}
	}
	return false
}

func portOf(at unix.Sockaddr, _ error) int {
	switch at := at.(type) {
	case *unix.SockaddrInet4:
		return at.Port
	case *unix.SockaddrInet6:
		return at.Port
	}
	return 0
}
