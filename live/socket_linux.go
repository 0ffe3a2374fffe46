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
	call  func(fd uintptr) // write, kept so that it need not be made anew each time
	ask   func(fd uintptr) // look, the same
	copy  func(fd uintptr) // sendfile, the same
	stage stage
	parts [][]byte
	list  []unix.Iovec
	n     int
	err   error
}

// maxParts is UIO_MAXIOV.
const maxParts = 1024

func (w *socketWriter) init() {
	w.call, w.ask, w.copy = w.write, w.look, w.sendfile
	w.stage.init()
}

func (w *socketWriter) close() { w.stage.drop() }

// send sends parts, borrowed until it returns, and returns how many bytes the
// socket has taken. That it is full is no error.
func (w *socketWriter) send(c syscall.RawConn, parts [][]byte) (int, error) {
	w.parts, w.n, w.err = parts, 0, nil
	// Control, not Write: the latter asks the poller first, and there is nobody
	// else who writes.
	err := c.Control(w.call)
	w.parts = nil
	return w.result(err)
}

// result is what came of a call, err being that of the connection.
func (w *socketWriter) result(err error) (int, error) {
	if err == nil && w.err != unix.EAGAIN && w.err != unix.ENOBUFS && w.err != unix.ENOMEM {
		err = w.err // the last two pass: too much is on its way
	}
	return w.n, err
}

func (w *socketWriter) write(fd uintptr) {
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
			return
		}
		w.n += n
		if n < size {
			return
		}
		w.parts = w.parts[len(some):]
	}
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
