package std

import (
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// isTimeout says that err is the end of a deadline that was set for until. An
// error that is not the usual one counts only when that time has come: the
// kernel, and connections that are more than a socket, have timeouts of their own.
func isTimeout(err error, until time.Time) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	var t net.Error
	return errors.As(err, &t) && t.Timeout() && !until.IsZero() && !time.Now().Before(until)
}

// closedError replaces the error of a connection that the program has closed by
// op.ErrConnClosed, and returns others unchanged.
func (dir *direction) closedError(err error) error {
	switch {
	case errors.Is(err, net.ErrClosed):
		return op.ErrConnClosed
	case errors.Is(err, io.ErrClosedPipe) && (!dir.sends || closedPipeHere(dir.conn.conn)):
		return op.ErrConnClosed
	}
	return err
}

var pipeType = sync.OnceValue(func() reflect.Type {
	c, _ := net.Pipe()
	return reflect.TypeOf(c)
})

// closedPipeHere tells which end of a net.Pipe is closed, one of them being: its
// Write says the same of both. Read does not wait then, and says io.EOF of the other.
func closedPipeHere(conn net.Conn) bool {
	if reflect.TypeOf(conn) != pipeType() {
		return false
	}
	_, err := conn.Read(nil)
	return err == io.ErrClosedPipe
}
