package aio

import (
	"errors"
	"fmt"
	"net"
)

// Errors that submissions return and completions carry. Compare with == or
// errors.Is, unless a comment says that the error is wrapped. A completion may
// carry io.EOF, io.ErrClosedPipe (the connection was freed) or what the kernel
// said (a syscall.Errno) as well.
var (
	// ErrUnsupported: the driver cannot take this connection, or has no such
	// setting. A call returns it wrapped, with what to do about it; in a completion
	// it is plain.
	ErrUnsupported = errors.New("aio: unsupported connection")
	// ErrNoRawConn: the connection gives no raw descriptor. It comes wrapped
	// together with ErrUnsupported.
	ErrNoRawConn = errors.New("aio: connection has no raw descriptor")
	// ErrWatcherClosed: the watcher is closed, or being shut down.
	ErrWatcherClosed = errors.New("aio: watcher closed")
	// ErrPollerClosed: the descriptor that the watcher waits on has failed. It
	// comes wrapped, with the reason; nothing but Close helps.
	ErrPollerClosed = errors.New("aio: poller closed")
	// ErrConnClosed: an operation was submitted on a connection that had been
	// freed, or that the program itself had closed; or an affinity was asked for
	// when the watcher was closed.
	ErrConnClosed = errors.New("aio: connection closed")
	// ErrDeadline: the deadline of the operation passed before it was complete.
	// OpResult.Size says how far it came.
	ErrDeadline = errors.New("aio: deadline exceeded")
	// ErrEmptyBuffer: there is nothing to write, or no room to read fully into.
	ErrEmptyBuffer = errors.New("aio: empty buffer")
	// ErrCPUID: there is no such processor, or this process may not run on it.
	ErrCPUID = errors.New("aio: no such processor")
	// ErrQueueFull: the connection's queue would have held more memory than
	// Options.QueueLimit. From a submission: it was refused. In a
	// completion: the connection was closed for it, see QueueClose. It comes
	// wrapped, with the numbers, from a submission.
	ErrQueueFull = errors.New("aio: write queue full")
)

// noRawConnError says which type of connection a driver cannot take.
type noRawConnError struct{ conn net.Conn }

func (e *noRawConnError) Error() string {
	return fmt.Sprintf("aio: %T gives no raw descriptor: a watcher with Options{Driver: aio.Std} takes it", e.conn)
}

func (e *noRawConnError) Is(target error) bool {
	return target == ErrNoRawConn || target == ErrUnsupported
}

// queueFullError is ErrQueueFull with its numbers, in bytes.
type queueFullError struct {
	size  int // of the write
	more  int // that it would hold
	held  int // by what waits already
	limit int
}

func (e *queueFullError) Error() string {
	return fmt.Sprintf("aio: write of %d bytes refused: it would hold %d, what waits holds %d and the connection's limit is %d", e.size, e.more, e.held, e.limit)
}

func (e *queueFullError) Is(target error) bool { return target == ErrQueueFull }
