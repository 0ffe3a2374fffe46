package load

import (
	"context"
	"errors"
	"net"
	"time"
)

const (
	sendLen = 64 << 10  // requests that go together in one send
	recvLen = 256 << 10 // answers that come together in one receive
)

// A transport moves the bytes of a loop's connections, which it knows by the numbers of
// their peers. Only wake may be called from another goroutine than the loop's.
type transport interface {
	// hold prepares the loop's goroutine; release undoes that.
	hold() (release func())
	// open takes a connection, transferred also on error.
	open(number int, conn net.Conn) error
	close(number int, reset bool)
	// send sends what there is room for; errNotReady when there is none.
	send(number int, p []byte) (n int, err error)
	// receive returns what has come, borrowed until the next call, and whether more may
	// have; errNotReady when nothing has, io.EOF at the end.
	receive(number int) (p []byte, more bool, err error)
	// wait waits for a time at most, and calls serve with what has become ready.
	wait(ctx context.Context, longest time.Duration, serve func(number int, r ready) error) error
	wake()
	// used is for how many nanoseconds the generator worked or waited for a processor.
	used() int64
	end()
}

// errNotReady is of a connection on which nothing can be done now.
var errNotReady = errors.New("not ready")

// ready is what can be done on a connection.
type ready struct {
	receive, send bool
	ending        bool // the end of the stream may stand behind what is received
}
