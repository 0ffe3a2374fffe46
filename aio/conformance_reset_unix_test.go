//go:build unix

package aio_test

import (
	"io"
	"net"
	"syscall"
)

// resets are the errors of a connection whose peer has gone: what the kernel
// says, and what a net.Pipe does.
var resets = []error{syscall.ECONNRESET, syscall.EPIPE, io.ErrClosedPipe}

func init() {
	suite = append(suite,
		behaviour{name: "a reset ends a read that waits", run: resetEndsRead, on: onlyTCP},
		behaviour{name: "a reset ends a write that waits", run: resetEndsWrite, on: onlyTCP},
		behaviour{name: "a reset that came before", run: resetBefore, on: onlyTCP},
	)
}

// reset closes so that the peer sees a reset, whatever is under way.
func (f *fixture) reset(far net.Conn) {
	f.Helper()
	if err := far.(*net.TCPConn).SetLinger(0); err != nil {
		f.Fatal(err)
	}
	if err := far.Close(); err != nil {
		f.Fatal(err)
	}
}

func resetEndsRead(f *fixture) {
	near, far := f.pair()
	first, second := f.read(near, 10), f.readNil(near)
	f.park()
	f.reset(far)
	f.wait(first, second)
	f.wantError(first, syscall.ECONNRESET)
	// The kernel reports a reset once; what comes after is an end of some kind.
	f.wantError(second, syscall.ECONNRESET, syscall.EPIPE, io.EOF)
	w := f.write(near, f.bytes(10))
	f.wait(w)
	f.wantError(w, syscall.ECONNRESET, syscall.EPIPE)
}

func resetEndsWrite(f *fixture) {
	near, far := f.narrowPair()
	first, second := f.write(near, f.bytes(tooMuch)), f.write(near, f.bytes(10))
	f.park()
	// A driver that writes in a goroutine of its own has begun when this comes.
	if _, err := io.ReadFull(far, make([]byte, 1)); err != nil {
		f.Fatal(err)
	}
	f.reset(far)
	f.wait(first, second)
	f.wantError(first, syscall.ECONNRESET, syscall.EPIPE)
	f.wantError(second, syscall.ECONNRESET, syscall.EPIPE)
	if first.res.Size <= 0 || first.res.Size >= tooMuch || second.res.Size != 0 {
		f.Errorf("the writes came back with %d and %d bytes of %d and 10", first.res.Size, second.res.Size, tooMuch)
	}
}

func resetBefore(f *fixture) {
	near, far := f.pair()
	f.sendAll(far, f.bytes(10))
	f.reset(far)
	// The reset takes the bytes with it, or comes after them.
	for range 2 {
		o := f.read(near, 100)
		f.wait(o)
		if o.res.Error != nil {
			f.wantError(o, syscall.ECONNRESET)
			return
		}
	}
	f.Error("a connection was read twice after it had been reset")
}
