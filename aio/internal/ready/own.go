//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/poller"
	"github.com/sluice-go/sluice/aio/internal/socket"
)

// own is a connection that Accept has returned, or a listening socket. It was never in
// the runtime's poller. It is its own name, so it is in no table; and it cannot be
// forgotten, since its driver holds it until it is freed.
type own struct {
	conn
	driver *Driver        // nil until it is adopted, before which it is no operation's name
	remote netip.AddrPort // invalid for Unix sockets
	shown  bool           // the program has had the descriptor
	shows  int32          // calls of Control under way, which keep it open
}

func newOwn(s socket.Socket, remote netip.AddrPort) *own {
	o := &own{remote: remote}
	o.name = o
	o.Socket = s
	o.ready = poller.Writable
	return o
}

// Listen returns a name for the socket that l listens on, for Accept and CloseConn
// only. This driver holds a duplicate of the socket.
func (d *Driver) Listen(l net.Listener) (net.Conn, error) {
	s, err := socket.Listening(l)
	if err != nil {
		return nil, err
	}
	o := newOwn(s, netip.AddrPort{})
	if err := d.adopt(o); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// Adopt takes over a connection that an Accept of this driver or another one has
// returned, and makes Wait return a result with it and ctx. When that fails the
// connection is closed.
func (d *Driver) Adopt(name net.Conn, ctx any) error {
	o := name.(*own)
	err := d.adopt(o)
	if err == nil {
		err = d.Post(ctx, o, nil)
	}
	if err != nil {
		o.Close()
	}
	return err
}

func (d *Driver) adopt(o *own) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := d.watch(&o.conn, o.Socket); err != nil {
		return err
	}
	o.driver = d
	return nil
}

// accept carries out t, an Accept. It returns false when there is no connection.
// Called with c.mu.
func (d *Driver) accept(c *conn, t *task) bool {
	s, remote, err := c.Accept()
	switch err {
	case unix.EINTR, unix.ECONNABORTED:
		return true
	case unix.EAGAIN:
		c.ready &^= poller.Readable
		return false
	}
	c.reads.remove(t)
	d.mu.Lock()
	r := d.done.Add()
	r.Context, r.Error = t.ctx, err
	if err == nil {
		r.Conn = newOwn(s, remote)
	}
	d.wake()
	d.mu.Unlock()
	c.freeTask(t)
	return true
}

// findOwn is find for o.
func (d *Driver) findOwn(o *own) (*conn, error) {
	switch {
	case d.life.refusing.Load():
		return nil, op.ErrWatcherClosed
	case o.driver != d:
		return nil, op.ErrUnsupported
	}
	return &o.conn, nil
}

func (d *Driver) closeOwn(o *own) {
	o.mu.Lock()
	defer d.unlock(&o.conn)
	if o.driver == d {
		d.drop(&o.conn, io.ErrClosedPipe)
	}
}

// Post makes the next Wait return a result with these, without an operation.
func (d *Driver) Post(ctx any, name net.Conn, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.closed {
		return op.ErrWatcherClosed
	}
	r := d.done.Add()
	r.Context, r.Conn, r.Error = ctx, name, err
	d.wake()
	return nil
}

// Load returns the number of connections.
func (d *Driver) Load() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int(d.counters.Delegated - d.counters.Freed)
}

// Held returns how much memory the queued writes of a connection hold, in bytes.
func (d *Driver) Held(name net.Conn) int {
	c := d.lookUp(name)
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// Close frees the connection.
func (o *own) Close() error {
	o.mu.Lock()
	if d := o.driver; d != nil {
		defer d.unlock(&o.conn)
		d.drop(&o.conn, io.ErrClosedPipe)
		return nil
	}
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.closeSocket()
	}
	return nil
}

// closeSocket closes the descriptor, now or when the last Control returns. Called with mu.
func (o *own) closeSocket() {
	if o.closed && o.shows == 0 {
		o.Socket.Close()
	}
}

// Read and Write do nothing: the connection is a name, as delegated ones are.

func (o *own) Read([]byte) (int, error)  { return 0, o.failed("read") }
func (o *own) Write([]byte) (int, error) { return 0, o.failed("write") }

// Deadlines are those of the operations.

func (o *own) SetDeadline(time.Time) error      { return o.failed("set") }
func (o *own) SetReadDeadline(time.Time) error  { return o.failed("set") }
func (o *own) SetWriteDeadline(time.Time) error { return o.failed("set") }

func (o *own) failed(op string) error {
	a := o.far()
	return &net.OpError{Op: op, Net: a.Network(), Addr: a, Err: net.ErrClosed}
}

// RemoteAddr returns the peer's address, also after the end; but a Unix socket's has no name
// then.
func (o *own) RemoteAddr() net.Addr {
	if !o.remote.IsValid() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if a := o.peer(); a != nil {
			return a
		}
	}
	return o.far()
}

// far is what is known of the peer's address without asking the system.
func (o *own) far() net.Addr {
	if o.remote.IsValid() {
		return net.TCPAddrFromAddrPort(o.remote)
	}
	return &net.UnixAddr{Net: "unix"}
}

// peer asks the system for the address of a Unix socket's peer. It returns nil when there is
// none. Called with mu.
func (o *own) peer() net.Addr {
	if o.closed {
		return nil
	}
	a, err := o.Peer()
	if err != nil {
		return nil
	}
	return a
}

// LocalAddr asks the system. After the end it is a zero address.
func (o *own) LocalAddr() net.Addr {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		if local := o.local(); local != nil {
			return local
		}
	}
	if o.remote.IsValid() {
		return &net.TCPAddr{}
	}
	return &net.UnixAddr{Net: "unix"}
}

// SyscallConn gives access to the descriptor, for socket options.
func (o *own) SyscallConn() (syscall.RawConn, error) { return rawOwn{o}, nil }

// rawOwn is a syscall.RawConn that does not wait.
type rawOwn struct{ o *own }

// Control calls f with the descriptor, which stays open until f returns. It holds no lock
// meanwhile: f may use the connection, and take its time.
func (r rawOwn) Control(f func(fd uintptr)) error {
	o := r.o
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return o.failed("raw-control")
	}
	o.shown = true
	o.shows++
	fd := o.FD
	o.mu.Unlock()
	defer func() { // also when f panics
		o.mu.Lock()
		o.shows--
		o.closeSocket()
	}()
	f(uintptr(fd))
	return nil
}

// Read is for the watcher alone.
func (r rawOwn) Read(func(fd uintptr) bool) error { return r.o.failed("raw-read") }

// Write is for the watcher alone.
func (r rawOwn) Write(func(fd uintptr) bool) error { return r.o.failed("raw-write") }
