//go:build !unix || aix || solaris || illumos

package live

import "syscall"

// direct says that sockets are written to by the loops themselves. Here every
// viewer has a goroutine.
const direct = false

type socketWriter struct{ stage stage }

func (*socketWriter) init()  {}
func (*socketWriter) close() {}

func (*socketWriter) send(syscall.RawConn, [][]byte) (int, error) {
	panic("live: a loop does not send here")
}

// unsent is not known here.
func (*socketWriter) unsent(syscall.RawConn) (n int, known bool) { return 0, false }
