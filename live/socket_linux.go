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
	call    func(fd uintptr) // write, kept so that it need not be made each time
	ask     func(fd uintptr) // look, the same
	measure func(fd uintptr) // inspect, the same
	info    unix.TCPInfo
	found   queue
	rated   bool // the rate is wanted
	parts   [][]byte
	whole   [1][]byte // parts, of a Wire
	sealed  []byte    // memory for a Wire
	list    []unix.Iovec
	left    int // bytes that may be sent
	n       int
	err     error
}

// maxParts is UIO_MAXIOV.
const maxParts = 1024

func (w *socketWriter) init() {
	w.call, w.ask, w.measure = w.write, w.look, w.inspect
}

// send sends at most so many bytes of parts, borrowed until it returns, and returns how
// many the socket has taken. That it is full is no error.
func (w *socketWriter) send(c syscall.RawConn, parts [][]byte, most int) (int, error) {
	w.parts, w.left, w.n, w.err = parts, most, 0, nil
	// Control, not Write: Write asks the poller first. No other goroutine writes.
	err := c.Control(w.call)
	w.parts = nil
	if err == nil && w.err != unix.EAGAIN && w.err != unix.ENOBUFS && w.err != unix.ENOMEM {
		err = w.err // the last two pass: too much is on its way
	}
	return w.n, err
}

func (w *socketWriter) write(fd uintptr) {
	for len(w.parts) > 0 && w.left > 0 {
		size, k := 0, 0
		w.list = w.list[:0]
		for ; k < min(len(w.parts), maxParts) && size < w.left; k++ {
			p := w.parts[k]
			v := unix.Iovec{Base: &p[0]}
			n := min(len(p), w.left-size)
			v.SetLen(n)
			w.list = append(w.list, v)
			size += n
		}
		n, err := w.try(int(fd), size)
		for err == unix.EINTR {
			n, err = w.try(int(fd), size)
		}
		if w.err = err; err != nil {
			return
		}
		w.n += n
		w.left -= n
		if n < size {
			return
		}
		w.parts = w.parts[k:]
	}
}

// try sends what is in list, size bytes, in one call.
func (w *socketWriter) try(fd, size int) (int, error) {
	if len(w.list) == 1 {
		return sys.Send(fd, w.parts[0][:size])
	}
	return sys.SendParts(fd, w.list)
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

// size returns what c's kernel buffer holds (SIOCOUTQ, TCP_INFO), and whether that is
// known. The rate of one that is empty is asked for only if it is wanted.
func (w *socketWriter) size(c syscall.RawConn, rated bool) (q queue, known bool) {
	w.rated = rated
	if c == nil || c.Control(w.measure) != nil || w.err != nil {
		return queue{}, false
	}
	return w.found, true
}

func (w *socketWriter) inspect(fd uintptr) {
	w.found = queue{}
	if w.found.unacked, w.err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ); w.err != nil || w.found.unacked == 0 && !w.rated {
		return
	}
	if sys.TCPInfo(int(fd), &w.info) != nil {
		w.found.unsent = w.found.unacked // a Unix socket
		return
	}
	w.found.unsent, w.found.rate = int(w.info.Notsent_bytes), float64(w.info.Delivery_rate)
}

// outstanding returns how many bytes c's kernel buffer holds that the peer has not
// acknowledged, 0 where that is not known. Any goroutine may call it.
func outstanding(c syscall.RawConn) (n int) {
	if c == nil {
		return 0
	}
	_ = c.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return n
}

// limitQueue makes c's socket full from n bytes on that are not on their way
// (TCP_NOTSENT_LOWAT, tcp(7)); others than those of TCP stay as they are.
func limitQueue(c syscall.RawConn, n int) {
	if c == nil {
		return
	}
	_ = c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, n)
	})
}

const (
	tcpRTOMax = 44 // TCP_RTO_MAX_MS of linux/tcp.h, since 6.15
	// mostBackoff is the longest wait of the kernel between two attempts to send what was not
	// acknowledged. It doubles with each, so that a line which was away for 7 s would be tried again
	// after 12 s, when the viewer has been closed as stalled.
	mostBackoff = 2 * time.Second
)

// limitBackoff makes the kernel try again soon after a line is back; kernels that cannot stay
// as they are.
func limitBackoff(c syscall.RawConn) {
	if c == nil {
		return
	}
	_ = c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, tcpRTOMax, int(mostBackoff.Milliseconds()))
	})
}

// limitTime makes the kernel give c up when the peer has acknowledged nothing for
// so long (TCP_USER_TIMEOUT, tcp(7)), also after it was closed.
func limitTime(c syscall.RawConn, d time.Duration) {
	if c == nil {
		return
	}
	_ = c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
}

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
