package live

import "errors"

// Errors that callers match with errors.Is. The first five are what Publish
// of a Hub or a Publisher returns; the others are reasons for which a viewer
// was closed, as Viewer.Err gives them.
var (
	// ErrBusy: the stream has a publisher already.
	ErrBusy = errors.New("live: the stream has a publisher")
	// ErrTakenOver: another publisher took the stream over.
	ErrTakenOver = errors.New("live: another publisher took the stream over")
	// ErrClosed: the hub, stream, publisher, writer or viewer was closed.
	ErrClosed = errors.New("live: closed")
	// ErrFrame: a frame that no wire form can carry.
	ErrFrame = errors.New("live: bad frame")

	// ErrOverfull: the streams of the hub take more memory than they may, and this one the most.
	ErrOverfull = errors.New("live: the streams take more memory than they may, and this one most")
	// ErrEnded: the stream is over, and the viewer got all of it.
	ErrEnded = errors.New("live: the stream is over")
	// ErrGone: the peer has closed the connection.
	ErrGone = errors.New("live: the viewer has gone")
	// ErrStalled: the viewer has taken no byte for longer than it may.
	ErrStalled = errors.New("live: the viewer takes nothing")
	// ErrSlow: the viewer had to be moved on too often.
	ErrSlow = errors.New("live: the viewer is too slow for the stream")
	// ErrMemory: the kernel held more for the viewer than for others when memory
	// was short.
	ErrMemory = errors.New("live: memory is short, and the viewer is slow")
	// ErrMoved: another process has the viewer's connection.
	ErrMoved = errors.New("live: another process has the connection")
	// ErrControl: more control bytes wait for the viewer than may.
	ErrControl = errors.New("live: too many control bytes wait")
)
