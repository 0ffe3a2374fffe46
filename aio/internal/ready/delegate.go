//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/poller"
	"github.com/sluice-go/sluice/aio/internal/socket"
)

// lock returns the connection of name with its mu held. One that another submission has just not
// been able to take over is not the end of name: it is tried again, to say why.
func (d *Driver) lock(name net.Conn) (*conn, error) {
	for {
		c, err := d.find(name)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		if !c.notTaken() {
			return c, nil
		}
		c.mu.Unlock()
	}
}

// find returns the connection of name, and takes it over the first time.
func (d *Driver) find(name net.Conn) (*conn, error) {
	if o, ok := name.(*own); ok {
		return d.findOwn(o)
	}
	address, err := addressOf(name)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	if d.life.ending() {
		d.mu.Unlock()
		return nil, op.ErrWatcherClosed
	}
	c := d.table.known(name, address)
	if c != nil {
		d.mu.Unlock()
		return c, nil
	}
	c = &conn{identity: newIdentity(name, address), ready: poller.Writable | taking}
	c.FD = -1
	// A submission to the same connection meanwhile waits for the lock.
	c.mu.Lock()
	d.table.enter(name, c)
	d.mu.Unlock()
	err = d.delegate(name, c)
	if err != nil {
		d.mu.Lock()
		d.table.leave(name, c)
		d.mu.Unlock()
		c.closed = true
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	// The duplicate keeps the socket open. Close may be the program's own.
	_ = name.Close()
	c.mu.Lock()
	c.ready &^= taking
	if c.closed {
		d.mu.Lock()
		d.table.leave(name, c)
		d.mu.Unlock()
	}
	c.mu.Unlock()
	return c, nil
}

// lookUp returns the connection of name, or nil when this driver has none of that name.
func (d *Driver) lookUp(name net.Conn) *conn {
	if o, ok := name.(*own); ok {
		if o.driver == d {
			return &o.conn
		}
		return nil
	}
	address, err := addressOf(name)
	if err != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.table.known(name, address)
}

// delegate duplicates the descriptor of name for c and registers it with the poller.
// Called with c.mu. When it fails, name is unchanged.
func (d *Driver) delegate(name net.Conn, c *conn) error {
	sc, ok := name.(syscall.Conn)
	if !ok {
		return &op.NoRawConnError{Conn: name}
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return rawConnError(name, err)
	}
	var own socket.Socket
	var failed error
	err = raw.Control(func(fd uintptr) { own, failed = socket.Duplicate(name, int(fd)) })
	if err != nil {
		return rawConnError(name, err)
	}
	if failed != nil {
		return fmt.Errorf("aio: taking over the connection to %v: %w", name.RemoteAddr(), failed)
	}
	if err := d.watch(c, own); err != nil {
		own.Close()
		switch err {
		case op.ErrWatcherClosed:
			return err
		case unix.EPERM:
			return fmt.Errorf("%w: the descriptor of %T cannot be polled", op.ErrUnsupported, name)
		}
		return fmt.Errorf("aio: watching the connection to %v: %w", name.RemoteAddr(), os.NewSyscallError("poller", err))
	}
	return nil
}

// watch makes s the socket of c and registers it with the poller. When it fails, s
// stays the caller's. Called with c.mu.
func (d *Driver) watch(c *conn, s socket.Socket) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.ending() {
		return op.ErrWatcherClosed
	}
	d.table.gen++
	if err := d.poller.Add(int(s.FD), d.table.gen); err != nil {
		return err
	}
	c.Socket, c.gen = s, d.table.gen
	d.table.enterFD(c)
	if !s.Listens {
		d.counters.Delegated++
	}
	return nil
}

// rawConnError says why there is no descriptor behind name.
func rawConnError(name net.Conn, err error) error {
	if socket.IsClosed(err) {
		return op.ErrConnClosed
	}
	return fmt.Errorf("%w: %w", &op.NoRawConnError{Conn: name}, err)
}
