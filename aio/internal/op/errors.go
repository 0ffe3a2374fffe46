package op

import (
	"errors"
	"fmt"
	"net"
)

// The errors of package aio, which says what they mean.
var (
	ErrUnsupported   = errors.New("aio: unsupported connection")
	ErrNoRawConn     = errors.New("aio: connection has no raw descriptor")
	ErrWatcherClosed = errors.New("aio: watcher closed")
	ErrPollerClosed  = errors.New("aio: poller closed")
	ErrConnClosed    = errors.New("aio: connection closed")
	ErrDeadline      = errors.New("aio: deadline exceeded")
	ErrEmptyBuffer   = errors.New("aio: empty buffer")
	ErrCPUID         = errors.New("aio: no such processor")
	ErrQueueFull     = errors.New("aio: write queue full")
)

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
