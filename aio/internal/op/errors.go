package op

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// The errors of package aio, which says what they mean.
var (
	ErrUnsupported         = errors.New("aio: unsupported connection")
	ErrNoRawConn           = errors.New("aio: connection has no raw descriptor")
	ErrWatcherClosed       = errors.New("aio: watcher closed")
	ErrPollerClosed        = errors.New("aio: poller closed")
	ErrConnClosed    error = connClosedError{}
	ErrDeadline      error = deadlineError{}
	ErrEmptyBuffer         = errors.New("aio: empty buffer")
	ErrCPUID               = errors.New("aio: no such processor")
	ErrQueueFull           = errors.New("aio: write queue full")
)

// ErrGoexit: a function of the program has ended the goroutine that called it.
var ErrGoexit = errors.New("aio: a callback has ended its goroutine (runtime.Goexit)")

// connClosedError is ErrConnClosed, which matches net.ErrClosed.
type connClosedError struct{}

func (connClosedError) Error() string        { return "aio: connection closed" }
func (connClosedError) Is(target error) bool { return target == net.ErrClosed }

// deadlineError is ErrDeadline, a net.Error which matches os.ErrDeadlineExceeded.
type deadlineError struct{}

func (deadlineError) Error() string        { return "aio: deadline exceeded" }
func (deadlineError) Timeout() bool        { return true }
func (deadlineError) Temporary() bool      { return true }
func (deadlineError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// NoRawConnError says which connection has a type that a driver cannot take.
type NoRawConnError struct{ Conn net.Conn }

func (e *NoRawConnError) Error() string {
	return fmt.Sprintf("aio: %T gives no raw descriptor: a watcher with Options{Driver: aio.Std} takes it", e.Conn)
}

// Is matches ErrNoRawConn and ErrUnsupported.
func (e *NoRawConnError) Is(target error) bool {
	return target == ErrNoRawConn || target == ErrUnsupported
}

// QueueFullError is ErrQueueFull with its numbers, in bytes.
type QueueFullError struct {
	Size  int // of the write
	More  int // that it would hold
	Held  int // by what waits already
	Limit int
}

func (e *QueueFullError) Error() string {
	return fmt.Sprintf("aio: write of %d bytes refused: it would hold %d, what waits holds %d and the connection's limit is %d", e.Size, e.More, e.Held, e.Limit)
}

// Is matches ErrQueueFull.
func (e *QueueFullError) Is(target error) bool { return target == ErrQueueFull }
