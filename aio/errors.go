package aio

import (
	"errors"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// Errors that submissions return and completions carry. Compare with == or
// errors.Is, unless a comment says that the error is wrapped. A completion may
// carry io.EOF, io.ErrClosedPipe (the connection was freed) or what the kernel
// said as well, in a *net.OpError as package net has it: compare with errors.Is.
var (
	// ErrUnsupported: the driver cannot take this connection, or has no such
	// setting. A call returns it wrapped, with what to do about it; in a completion
	// it is plain.
	ErrUnsupported = op.ErrUnsupported
	// ErrNoRawConn: the connection gives no raw descriptor. It comes wrapped
	// together with ErrUnsupported.
	ErrNoRawConn = op.ErrNoRawConn
	// ErrWatcherClosed: the watcher is closed, or being shut down.
	ErrWatcherClosed = op.ErrWatcherClosed
	// ErrPollerClosed: the descriptor that the watcher waits on has failed. It
	// comes wrapped, with the reason; nothing but Close helps.
	ErrPollerClosed = op.ErrPollerClosed
	// ErrConnClosed: an operation was submitted on a connection that had been
	// freed, or that the program itself had closed; or an affinity was asked for
	// when the watcher was closed. It matches net.ErrClosed.
	ErrConnClosed = op.ErrConnClosed
	// ErrDeadline: the deadline of the operation passed before it was complete.
	// OpResult.Size says how far it came. It matches os.ErrDeadlineExceeded, and is a
	// net.Error with Timeout.
	ErrDeadline = op.ErrDeadline
	// ErrEmptyBuffer: there is nothing to write, or no room to read fully into.
	ErrEmptyBuffer = op.ErrEmptyBuffer
	// ErrCPUID: there is no such processor, or this process may not run on it.
	ErrCPUID = op.ErrCPUID
	// ErrQueueFull: the connection's queue would have held more memory than
	// Options.QueueLimit. From a submission: it was refused. In a
	// completion: the connection was closed for it, see QueueClose. It comes
	// wrapped, with the numbers, from a submission.
	ErrQueueFull = op.ErrQueueFull
)

// errStreamEnd says that the peer has ended its side, in place of io.EOF, which a
// callback may return as well.
var errStreamEnd = errors.New("aio: the peer has ended")
