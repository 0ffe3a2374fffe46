package rawio

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Floor is the least that a server can do with epoll: one thread, one buffer,
// and for what comes together a recv and a send. It receives from many connections
// before it answers the first: the kernel's code for one of the two then stays in the
// processor's cache, and a small echo takes a twentieth less.
type Floor struct {
	// Buffer is how many bytes are read at once. A read that fills the buffer has
	// to be followed by another one: it should be longer than what comes at once.
	Buffer int
	// Open is called for each connection and returns what answers it: a function
	// that consumes p, borrowed, and returns the bytes to send back, borrowed until its
	// next call; they may be p itself.
	Open func(*Conn) (answer func(p []byte) []byte)
	// Closed is called when a connection has ended. It may be nil.
	Closed func(*Conn)
	// Tick, if it is set, is called every so often.
	Tick  func()
	Every time.Duration

	ep, listener int
	conns        []*Conn // by descriptor
	ended        []*Conn // to be closed after the events at hand
	buf          []byte  // room for several reads
	at           int     // bytes of buf that pieces lie in
	pieces       []piece // received and not answered
}

type piece struct {
	c    *Conn
	p    []byte
	more bool // there may be more to read
	over bool // up to the end of the stream
}

// together is how many bytes are received before they are answered, at least.
const together = 64 << 10

// A Conn is a connection of a Floor, for the Floor's callbacks only.
type Conn struct {
	floor  *Floor
	fd     int
	answer func(p []byte) []byte
	unsent []byte // its send buffer was full; nothing is read meanwhile
	dead   bool
}

// mostUnsent is what is kept for a peer that does not read.
const mostUnsent = 16 << 20

// Serve serves the connections of a listener, borrowed, until something fails. The
// connections that there are then stay open: it is for processes that end.
func (f *Floor) Serve(l *net.TCPListener) error {
	// A duplicate: the listener's own descriptor is in the runtime's poller.
	file, err := l.File()
	if err != nil {
		return err
	}
	defer file.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if f.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	defer unix.Close(f.ep)
	f.buf = make([]byte, together+f.Buffer)
	f.listener = int(file.Fd())
	// Fd has made it wait, and the listener with it, which is the same to the
	// kernel.
	if err := unix.SetNonblock(f.listener, true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	// Each connection inherits it.
	if err := unix.SetsockoptInt(f.listener, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := Watch(f.ep, f.listener, f.listener); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	return f.loop()
}

func (f *Floor) loop() error {
	events := make([]unix.EpollEvent, 1024)
	due := time.Now().Add(f.Every)
	for {
		var n int
		var err error
		if f.Tick == nil {
			n, err = unix.EpollWait(f.ep, events, -1) // no timer to set
		} else if n, err = Wait(f.ep, events, time.Until(due)); !time.Now().Before(due) {
			f.Tick()
			for now := time.Now(); !due.After(now); {
				due = due.Add(f.Every)
			}
		}
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("epoll_wait", err)
		}
		for i := range events[:max(n, 0)] {
			fd := int(events[i].Fd)
			if fd == f.listener {
				if err := f.accept(); err != nil {
					return err
				}
			} else if c := f.conns[fd]; !c.dead {
				c.serve(events[i].Events)
			}
		}
		f.answer()
		for _, c := range f.ended {
			unix.Close(c.fd) // and out of the epoll with it
			f.conns[c.fd] = nil
			if f.Closed != nil {
				f.Closed(c)
			}
		}
		f.ended = f.ended[:0]
	}
}

func (f *Floor) accept() error {
	for {
		// Package unix would ask each for its protocol.
		fd, _, err := syscall.Accept4(f.listener, unix.SOCK_CLOEXEC)
		switch {
		case err == unix.EAGAIN:
			return nil
		case err == unix.EINTR, err == unix.ECONNABORTED:
			continue
		case err != nil:
			return os.NewSyscallError("accept4", err)
		}
		if fd >= len(f.conns) {
			f.conns = append(f.conns, make([]*Conn, fd+1-len(f.conns))...)
		}
		c := &Conn{floor: f, fd: fd}
		c.answer = f.Open(c)
		f.conns[fd] = c
		if err := Watch(f.ep, fd, fd); err != nil {
			return fmt.Errorf("rawio: an accepted connection: %w", os.NewSyscallError("epoll_ctl", err))
		}
	}
}

func (c *Conn) serve(events uint32) {
	if rest := c.unsent; len(rest) > 0 {
		c.unsent = nil
		c.Write(rest)
	}
	if len(c.unsent) == 0 && !c.dead {
		c.receive(events&Over != 0)
	}
}

// receive reads once, for answer; over says that the end of the stream may follow.
func (c *Conn) receive(over bool) {
	f := c.floor
	room := f.buf[f.at:][:f.Buffer]
	n := c.recv(room)
	if n == 0 {
		return
	}
	f.pieces = append(f.pieces, piece{c, room[:n], n == len(room) || over, over})
	if f.at += n; f.at > together {
		f.answer()
	}
}

func (c *Conn) recv(room []byte) int {
	n, errno := Recv(c.fd, room)
	if errno == unix.EAGAIN {
		return 0
	}
	if errno != 0 || n == 0 {
		c.End()
		return 0
	}
	return n
}

func (f *Floor) answer() {
	for _, p := range f.pieces {
		if !p.c.dead {
			p.c.Write(p.c.answer(p.p))
		}
	}
	for _, p := range f.pieces {
		if p.more {
			p.c.drain(p.over)
		}
	}
	f.pieces, f.at = f.pieces[:0], 0
}

// drain reads and answers what is left of a connection that had more than its room.
func (c *Conn) drain(over bool) {
	room := c.floor.buf[:c.floor.Buffer]
	for len(c.unsent) == 0 && !c.dead {
		n := c.recv(room)
		if n > 0 {
			c.Write(c.answer(room[:n]))
		}
		if n < len(room) && !(over && n > 0) {
			return
		}
	}
}

// Write sends p, borrowed. It keeps a copy of what the socket does not take, and ends
// the connection when that is too much.
func (c *Conn) Write(p []byte) {
	for len(p) > 0 && len(c.unsent) == 0 && !c.dead {
		n, errno := Send(c.fd, p)
		if errno == unix.EAGAIN {
			break
		}
		if errno != 0 {
			c.End()
		}
		p = p[max(n, 0):]
	}
	if len(p) == 0 || c.dead {
		return
	}
	if c.unsent = append(c.unsent, p...); len(c.unsent) > mostUnsent {
		c.End()
	}
}

// End closes the connection once the events at hand have been served.
func (c *Conn) End() {
	if !c.dead {
		c.dead = true
		c.floor.ended = append(c.floor.ended, c)
	}
}
