//go:build unix && !aix && !solaris && !illumos

package aio

import (
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"syscall"
	"weak"

	"golang.org/x/sys/unix"
)

// find returns the connection that the program calls name. It takes it over when
// it sees it for the first time.
//
// Names are pointers, nearly always, and are told apart by their address. The
// table does not hold them, or they could not be forgotten; so the address may
// have come to mean another one, and a weak pointer tells.
func (p *readiness) find(name net.Conn) (*conn, error) {
	address, err := addressOf(name)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	if p.closed || p.draining {
		p.mu.Unlock()
		return nil, ErrWatcherClosed
	}
	c := p.known(name, address)
	if c != nil {
		p.mu.Unlock()
		return c, nil
	}
	c = &conn{fd: -1, ready: canWrite | taking}
	if address == nil {
		c.name = name
	} else {
		c.key, c.self = addressNumber(address), weak.Make(address)
	}
	// Whoever submits to the same connection meanwhile waits for the lock.
	c.mu.Lock()
	p.enter(name, c)
	p.mu.Unlock()
	err = p.delegate(name, c)
	if err != nil {
		p.mu.Lock()
		p.leave(name, c)
		p.mu.Unlock()
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
		p.mu.Lock()
		p.leave(name, c)
		p.mu.Unlock()
	}
	c.mu.Unlock()
	return c, nil
}

// addressOf returns the pointer that name is, or nil when it is another kind of
// value that can be told apart by comparing.
func addressOf(name net.Conn) (*byte, error) {
	if name == nil {
		return nil, ErrUnsupported
	}
	v := reflect.ValueOf(name)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, fmt.Errorf("%w: nil %T", ErrUnsupported, name)
		}
		return (*byte)(v.UnsafePointer()), nil
	}
	if !v.Comparable() {
		return nil, fmt.Errorf("%w: values of type %T cannot be told apart, pass a pointer", ErrUnsupported, name)
	}
	return nil, nil
}

// known looks a name up. Called with mu.
func (p *readiness) known(name net.Conn, address *byte) *conn {
	if address == nil {
		return p.values[name]
	}
	if c := p.conns[addressNumber(address)]; c != nil && c.self.Value() == address {
		return c
	}
	return nil
}

// enter puts c into the tables. Called with mu.
func (p *readiness) enter(name net.Conn, c *conn) {
	if c.key != 0 {
		p.conns[c.key] = c
		return
	}
	if p.values == nil {
		p.values = make(map[net.Conn]*conn)
	}
	p.values[name] = c
}

// leave takes c out of the tables. Called with mu.
func (p *readiness) leave(name net.Conn, c *conn) {
	if c.key == 0 {
		if p.values[name] == c {
			delete(p.values, name)
		}
	} else if p.conns[c.key] == c {
		// Another may have come to the same address.
		delete(p.conns, c.key)
	}
	if c.fd >= 0 && p.fds[c.fd] == c {
		p.fds[c.fd] = nil
	}
}

// delegate duplicates the descriptor of name for c and has the poller watch it.
// Called with c.mu. When it fails, name is as it was.
func (p *readiness) delegate(name net.Conn, c *conn) error {
	sc, ok := name.(syscall.Conn)
	if !ok {
		return &noRawConnError{conn: name}
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return rawConnError(name, err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = c.duplicate(name, int(fd)) })
	if err != nil {
		return rawConnError(name, err)
	}
	if failed != nil {
		return fmt.Errorf("aio: taking over the connection to %v: %w", name.RemoteAddr(), failed)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.draining {
		_ = unix.Close(int(c.fd))
		c.fd = -1
		return ErrWatcherClosed
	}
	p.gen++
	c.gen = p.gen
	if err := p.poller.add(p.pollerFD(), int(c.fd), c.gen); err != nil {
		_ = unix.Close(int(c.fd))
		c.fd = -1
		if err == unix.EPERM {
			return fmt.Errorf("%w: the descriptor of %T cannot be polled", ErrUnsupported, name)
		}
		return fmt.Errorf("aio: watching the connection to %v: %w", name.RemoteAddr(), os.NewSyscallError("poller", err))
	}
	for int(c.fd) >= len(p.fds) {
		p.fds = append(p.fds, nil)
	}
	p.fds[c.fd] = c
	p.counters.Delegated++
	return nil
}

// rawConnError says why there is no descriptor behind name.
func rawConnError(name net.Conn, err error) error {
	if isClosed(err) {
		return ErrConnClosed
	}
	return fmt.Errorf("%w: %w", &noRawConnError{conn: name}, err)
}

// duplicate makes c.fd a duplicate of fd, non-blocking, and finds out what it is.
func (c *conn) duplicate(name net.Conn, fd int) error {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	c.fd = int32(dup)
	if _, ok := name.(*net.TCPConn); ok {
		c.socket, c.stream = true, true
		return nil
	}
	kind, err := unix.GetsockoptInt(dup, unix.SOL_SOCKET, unix.SO_TYPE)
	c.socket = err == nil
	c.stream = c.socket && kind == unix.SOCK_STREAM
	c.datagram = c.socket && kind == unix.SOCK_DGRAM
	if _, ok := name.(*net.UnixConn); ok {
		return nil
	}
	if err := unix.SetNonblock(dup, true); err != nil {
		_ = unix.Close(dup)
		c.fd = -1
		return os.NewSyscallError("fcntl", err)
	}
	return nil
}

func (p *readiness) free(name net.Conn) error {
	address, err := addressOf(name)
	if err != nil {
		return err
	}
	p.mu.Lock()
	c := p.known(name, address)
	p.mu.Unlock()
	if c == nil {
		if err := name.Close(); err != nil && !isClosed(err) {
			return err
		}
		// A submission may have taken it over at the same time. One that comes
		// later finds it closed.
		p.mu.Lock()
		c = p.known(name, address)
		p.mu.Unlock()
		if c == nil {
			return nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.drop(c, io.ErrClosedPipe)
	return nil
}

// drop closes c and completes what is pending on it with err. It says whether c
// was open. Called with c.mu.
func (p *readiness) drop(c *conn, err error) bool {
	if c.closed {
		return false
	}
	c.closed = true
	p.mu.Lock()
	if c.ready&taking == 0 {
		p.leave(c.name, c)
	} else {
		p.fds[c.fd] = nil
	}
	if !p.closed {
		// A duplicate that the program has made would keep it registered.
		_ = p.poller.remove(p.pollerFD(), int(c.fd))
	}
	p.counters.Freed++
	p.mu.Unlock()
	_ = unix.Close(int(c.fd))
	for c.reads.tail != nil {
		p.completeRead(c, c.reads.head(), result{err: err})
	}
	for c.writes.tail != nil {
		p.completeWrite(c, c.writes.head(), err)
	}
	return true
}
