package session

import (
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
)

// rawOf returns the socket below a connection's TLS and wrappers.
func rawOf(conn net.Conn) (raw syscall.RawConn, ok bool) {
	c, ok := listen.Bare(conn).(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := c.SyscallConn()
	return raw, err == nil
}

// uncounted is how much TCP memory each processor may have in use that sockstat does not
// know of yet (SK_MEMORY_PCPU_RESERVE in Linux's net/sock.h).
const uncounted = 1 << 20

// tcpMemory is at least how many bytes of memory the kernel has for all TCP connections of the
// machine, in all network namespaces (/proc/net/sockstat, proc(5)), if that is known.
func tcpMemory() (bytes int64, known bool) {
	text, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return 0, false
	}
	pages, known := tcpPages(string(text))
	return pages*int64(os.Getpagesize()) + uncounted*int64(processors()), known
}

// processors is how many processors the machine has: a process may be confined to a few of
// them, and its packets come on all.
var processors = sync.OnceValue(func() int {
	online, _ := os.ReadFile("/sys/devices/system/cpu/online")
	return max(lastProcessor(string(online)), runtime.NumCPU())
})

// lastProcessor is one more than the last number of a list such as 0-3,8-11; 0 when it is no
// such list.
func lastProcessor(list string) int {
	list = strings.TrimSpace(list)
	n, err := strconv.ParseUint(list[strings.LastIndexAny(list, ",-")+1:], 10, 16)
	if err != nil {
		return 0
	}
	return int(n) + 1
}

// tcpPages is the number behind mem in the line of TCP.
func tcpPages(sockstat string) (pages int64, known bool) {
	for line := range strings.Lines(sockstat) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "TCP:" {
			continue
		}
		for i := 1; i+1 < len(f); i += 2 {
			if f[i] == "mem" {
				pages, err := strconv.ParseInt(f[i+1], 10, 64)
				return pages, err == nil && pages >= 0
			}
		}
	}
	return 0, false
}
