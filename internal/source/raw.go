package source

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// Memory is what Raw reads into. Its methods are called during a Read, when
// the stack is at its deepest: 2 KiB suffice, and a goroutine that has
// outgrown them keeps 4. So they do little.
type Memory interface {
	// Conn returns the connection, the same until Reset.
	Conn() io.Reader
	// Drop gives back what can be spared, before a wait.
	Drop()
	// Take returns memory to read into after a wait, or nil when the cache has
	// none.
	Take() []byte
}

// ErrAgain is what Raw.Read returns when there may be bytes and Take had no
// memory for them.
var ErrAgain = errors.New("source: no memory at hand")

// A RawReader is a connection of another type that wraps nothing: reading from
// the descriptor that RawRead gives is the same as calling Read. One that gives nil
// has no descriptor. Types that embed a connection and change what Read does must not
// have this method.
type RawReader interface {
	io.Reader
	RawRead() syscall.Conn
}

// An Immediate is a syscall.RawConn that does not wait at times: an event loop knows when
// there is something to read.
type Immediate interface {
	// ReadNow reads into p, if this is such a time. What it returns is what the read
	// returns then, its error as it is.
	ReadNow(p []byte) (n int, now bool, err error)
}

// A Brief is a syscall.RawConn whose reader never works for long with what it has read: it
// waits again within a millisecond. The scheduler is not notified of reads that follow a
// wait, which costs more than the read: when all else is idle that wakes the runtime's
// monitor thread, which then looks around some sixty times. It alone preempts goroutines, so
// a reader that may work for longer has to be no Brief.
type Brief interface{ Brief() }

// Descriptor returns access to r's descriptor, or nil when r must be read with
// its Read method.
func Descriptor(r io.Reader) syscall.Conn {
	if !rawReads {
		return nil
	}
	// Only these very types: a struct that embeds a connection has its
	// SyscallConn too, and the struct's Read would be passed by.
	switch c := r.(type) {
	case *net.TCPConn:
		if c != nil {
			return c
		}
	case *net.UnixConn:
		// A datagram's end would be lost in a stream of bytes read here.
		if a := c.LocalAddr(); a != nil && a.Network() == "unix" {
			return c
		}
	case RawReader:
		return c.RawRead()
	}
	return nil
}
