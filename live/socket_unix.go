//go:build unix && !linux && !aix && !solaris && !illumos

package live

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/sys"
)

// direct says that sockets are written to by the loops themselves.
const direct = true

// socketWriter writes to sockets without waiting. One loop uses it at a time.
type socketWriter struct {
	call   func(fd uintptr)
	parts  [][]byte
	whole  [1][]byte // parts, of a Wire
	sealed []byte    // memory for a Wire
	left   int       // bytes that may be sent
	n      int
	err    error
}

func (w *socketWriter) init() { w.call = w.write }

// send sends at most so many bytes of parts, borrowed until it returns, and returns how
// many the socket has taken. That it is full is no error.
func (w *socketWriter) send(c syscall.RawConn, parts [][]byte, most int) (int, error) {
	w.parts, w.left, w.n, w.err = parts, most, 0, nil
	err := c.Control(w.call)
	w.parts = nil
	if err != nil {
		return w.n, err
	}
	if w.err == unix.EAGAIN || w.err == unix.ENOBUFS {
		w.err = nil
	}
	return w.n, w.err
}

func (w *socketWriter) write(fd uintptr) {
	for _, p := range w.parts {
		p = p[:min(len(p), w.left)]
		for len(p) > 0 {
			n, err := sys.Send(int(fd), p)
			if err == unix.EINTR {
				continue
			}
			if w.err = err; err != nil {
				return
			}
			w.n += n
			w.left -= n
			p = p[n:]
		}
	}
}

// What the kernel holds is not known here, and cannot be limited.

func (*socketWriter) unsent(syscall.RawConn) (n int, known bool) { return 0, false }

func (*socketWriter) size(syscall.RawConn, bool) (q queue, known bool) { return queue{}, false }

func outstanding(syscall.RawConn) int { return 0 }

func limitQueue(syscall.RawConn, int) {}

func limitBackoff(syscall.RawConn) {}

func limitTime(syscall.RawConn, time.Duration) {}

// dropQueue makes the close of c a reset, so that the kernel lets go at once of
// what the peer has not taken.
func dropQueue(c syscall.RawConn) {
	if c == nil {
		return
	}
	_ = c.Control(func(fd uintptr) {
		_ = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	})
}
