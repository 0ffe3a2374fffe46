//go:build !386 && !s390x

package intake

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/sys"
)

// A Conn is a TCP connection that is read by a goroutine, as any is, and during Serve by
// a loop. The runtime's poller knows nothing of it then, which would otherwise be woken
// by all that comes: it has another descriptor for the same socket.
//
//	goroutine --Serve--> loop --Handler says Over, Loops.Close--> goroutine
//
// Reads are the serving goroutine's, or the handler's. All other methods may be called by
// any goroutine at any time.
type Conn struct {
	// First what each read in a loop needs, in one line of cache: with many connections
	// fetching that is much of the work.

	fd int // in a loop: the descriptor, which is closed by leave; written under mu
	// The reader's: of the goroutine, or of the loop.
	looped  bool
	may     bool // there may be a read until the next Ready
	drained bool // the read has emptied the socket
	unsure  bool // the peer has ended, or sends urgent data: a short read has not emptied it
	// The loop's.
	again   bool // it is in the loop's list
	handler Handler
	slot    int
	loop    *loop // the only one that ever has it
	over    chan struct{}

	loops         *Loops
	local, remote net.Addr
	raw           syscall.RawConn // of tcp; the reader's

	writing sync.Mutex // held during a write, which may wait outside of a loop

	mu       sync.Mutex
	tcp      *net.TCPConn // nil in a loop
	closed   bool
	deadline atomic.Int64 // for reads, in ns since began; 0: none
}

// began is what deadlines are counted from. They do not move when the wall clock is set.
var began = time.Now()

// noSlot is the slot of a connection that its loop does not have.
const noSlot = -1

// TCP returns the connection itself, transferred; c is used no more, but what reads from
// it may do so until it ends. It is not called during Serve.
func (c *Conn) TCP() *net.TCPConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tcp
}

// Serve has a loop read the connection until h says that it is over, and returns when it
// is the caller's again. What was read and not consumed before is h's first.
// errors.ErrUnsupported says that there is no loop: h was not called.
func (c *Conn) Serve(h Handler) error {
	if c.loop == nil {
		c.loop = c.loops.loop()
	}
	if c.loop == nil || !c.enter() {
		return errors.ErrUnsupported
	}
	c.handler = h
	if c.over == nil {
		c.over = make(chan struct{}, 1)
	}
	added := c.loop.add(c)
	if added {
		<-c.over
	}
	c.leave()
	if !added {
		return errors.ErrUnsupported
	}
	return nil
}

// enter takes the socket from the runtime's poller.
func (c *Conn) enter() bool {
	if !c.writing.TryLock() {
		return false
	}
	defer c.writing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.tcp == nil {
		return false
	}
	fd := -1
	err := c.raw.Control(func(own uintptr) {
		fd, _ = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err != nil || fd < 0 {
		return false
	}
	c.tcp.Close()
	c.tcp, c.raw, c.fd, c.looped = nil, nil, fd, true
	return true
}

// leave gives the socket back to the runtime's poller.
func (c *Conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looped, c.handler = false, nil
	f := os.NewFile(uintptr(c.fd), "tcp")
	c.fd = -1
	defer f.Close()
	if c.closed {
		return
	}
	conn, err := net.FileConn(f)
	if err != nil { // no descriptor is left, say
		c.closed = true
		return
	}
	c.tcp = conn.(*net.TCPConn)
	if c.raw, err = c.tcp.SyscallConn(); err != nil {
		c.tcp.Close()
		c.closed = true
		return
	}
	if at := c.deadline.Load(); at != 0 {
		c.tcp.SetReadDeadline(began.Add(time.Duration(at)))
	}
}

// ReadNow is the read of a sluice.BufReader: once for each Ready in a loop, and none
// otherwise.
func (c *Conn) ReadNow(p []byte) (n int, now bool, err error) {
	if !c.looped {
		return 0, false, nil
	}
	if !c.may {
		return 0, true, ErrDry
	}
	c.may = false
	for {
		n, err := sys.Recv(c.fd, p)
		switch {
		case n > 0:
			c.drained = n < len(p) && !c.unsure
			return n, true, nil
		case err == nil && c.isClosed():
			return 0, true, c.failed("read", net.ErrClosed)
		case err == nil:
			return 0, true, io.EOF
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			c.drained = true
			return 0, true, ErrDry
		default:
			return 0, true, c.failed("read", os.NewSyscallError("recvfrom", err))
		}
	}
}

func (c *Conn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *Conn) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// RawRead makes a sluice.BufReader read from the descriptor.
func (c *Conn) RawRead() syscall.Conn { return c }

// SyscallConn returns the connection as one whose descriptor can be looked at.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return (*rawConn)(c), nil }

// rawConn is a Conn as a syscall.RawConn.
type rawConn Conn

func (c *rawConn) ReadNow(p []byte) (n int, now bool, err error) { return (*Conn)(c).ReadNow(p) }

// Read calls f until it reports true, as the runtime's poller does. In a loop it is not
// called.
func (c *rawConn) Read(f func(fd uintptr) bool) error {
	if c.raw == nil {
		return (*Conn)(c).failed("raw-read", net.ErrClosed)
	}
	return c.raw.Read(f)
}

func (c *rawConn) Write(func(fd uintptr) bool) error { return errors.ErrUnsupported }

// Control calls f, which must not wait.
func (c *rawConn) Control(f func(fd uintptr)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.fd >= 0:
		f(uintptr(c.fd))
		return nil
	case c.tcp == nil:
		return (*Conn)(c).failed("raw-control", net.ErrClosed)
	}
	raw, err := c.tcp.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(f)
}

// Read reads what there is, in a loop as ReadNow does.
func (c *Conn) Read(p []byte) (int, error) {
	if n, now, err := c.ReadNow(p); now {
		return n, err
	}
	tcp := c.TCP()
	if tcp == nil {
		return 0, c.failed("read", net.ErrClosed)
	}
	return tcp.Read(p)
}

// Write writes p. In a loop it does not wait: ErrFull says that the peer has not taken
// all that was sent to it before.
func (c *Conn) Write(p []byte) (sent int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	if tcp := c.tcp; tcp != nil {
		c.mu.Unlock()
		return tcp.Write(p)
	}
	defer c.mu.Unlock()
	if c.closed {
		return 0, c.failed("write", net.ErrClosed)
	}
	for sent < len(p) {
		n, err := sys.Send(c.fd, p[sent:])
		switch {
		case err == unix.EAGAIN:
			return sent, c.failed("write", ErrFull)
		case err == unix.EINTR:
		case err != nil:
			return sent, c.failed("write", os.NewSyscallError("sendto", err))
		default:
			sent += n
		}
	}
	return sent, nil
}

// Close closes the connection. In a loop its peer's end is read, and the descriptor is
// closed after that.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.failed("close", net.ErrClosed)
	}
	c.closed = true
	if c.tcp != nil {
		return c.tcp.Close()
	}
	return unix.Shutdown(c.fd, unix.SHUT_RDWR)
}

// LocalAddr returns the address on this side.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline sets the time after which reads fail, or Handler.Late is called.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.failed("set", net.ErrClosed)
	}
	at := int64(0)
	if !t.IsZero() {
		at = max(int64(t.Sub(began)), 1)
	}
	c.deadline.Store(at)
	if c.tcp != nil {
		return c.tcp.SetReadDeadline(t)
	}
	c.loop.moved(c)
	return nil
}

// SetWriteDeadline sets the time after which writes fail; those of a loop do not wait.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.failed("set", net.ErrClosed)
	}
	if c.tcp != nil {
		return c.tcp.SetWriteDeadline(t)
	}
	return nil
}
