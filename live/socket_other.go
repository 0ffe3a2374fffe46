//go:build !unix || aix || solaris || illumos

package live

import (
	"syscall"
	"time"
)

// direct says that sockets are written to by the loops themselves. Here every
// viewer has a goroutine.
const direct = false

type socketWriter struct {
	whole  [1][]byte
	sealed []byte
}

func (*socketWriter) init() {}

func (*socketWriter) send(syscall.RawConn, [][]byte, int) (int, error) {
	panic("live: sockets are not written to directly here")
}

// What the kernel holds is not known here, and cannot be limited.

func (*socketWriter) unsent(syscall.RawConn) (n int, known bool) { return 0, false }

func (*socketWriter) size(syscall.RawConn, bool) (q queue, known bool) { return queue{}, false }

func outstanding(syscall.RawConn) int { return 0 }

func limitQueue(syscall.RawConn, int) {}

func limitBackoff(syscall.RawConn) {}

func limitTime(syscall.RawConn, time.Duration) {}

func dropQueue(syscall.RawConn) {}
