package live

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/sys"
)

// direct says that sockets are written to by the loops themselves.
const direct = true

// socketWriter writes to sockets without waiting. One loop uses it at a time.
type socketWriter struct {
	call  func(fd uintptr) bool // write, kept so that it need not be made anew each time
	ask   func(fd uintptr)      // look, the same
	parts [][]byte
	list  []unix.Iovec
	n     int
	err   error
}

// maxParts is UIO_MAXIOV.
const maxParts = 1024

func (w *socketWriter) init() { w.call, w.ask = w.write, w.look }

// send sends parts, borrowed until it returns, and returns how many bytes the
// socket has taken. That it is full is no error.
func (w *socketWriter) send(c syscall.RawConn, parts [][]byte) (int, error) {
	w.parts, w.n, w.err = parts, 0, nil
	if err := c.Write(w.call); err != nil {
		w.parts = nil
		return w.n, err
	}
	w.parts = nil
	if w.err == unix.EAGAIN || w.err == unix.ENOBUFS || w.err == unix.ENOMEM {
		w.err = nil // the last two pass: too much is on its way
	}
	return w.n, w.err
}

// write reports true, since it is never to be called again when the socket has
// become writable.
func (w *socketWriter) write(fd uintptr) bool {
	for len(w.parts) > 0 {
		some := w.parts[:min(len(w.parts), maxParts)]
		size, n := 0, 0
		for {
			if len(some) == 1 {
				size = len(some[0])
				n, w.err = sys.Send(int(fd), some[0])
			} else {
				w.list = w.list[:0]
				size = 0
				for _, p := range some {
					v := unix.Iovec{Base: &p[0]}
					v.SetLen(len(p))
					w.list = append(w.list, v)
					size += len(p)
				}
				n, w.err = sys.SendParts(int(fd), w.list)
			}
			if w.err != unix.EINTR {
				break
			}
		}
		if w.err != nil {
			return true
		}
		w.n += n
		if n < size {
			return true
		}
		w.parts = w.parts[len(some):]
	}
	return true
}

// unsent returns how many bytes c's kernel buffer holds that the peer has not
// acknowledged (SIOCOUTQ, tcp(7)), and whether that is known.
func (w *socketWriter) unsent(c syscall.RawConn) (n int, known bool) {
	err := c.Control(w.ask)
	return w.n, err == nil && w.err == nil
}

func (w *socketWriter) look(fd uintptr) {
	w.n, w.err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
}
