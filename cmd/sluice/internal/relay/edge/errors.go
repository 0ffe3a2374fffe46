package edge

import "errors"

// Errors of Pull that callers match with errors.Is. Others are those of the
// network.
var (
	// ErrNotFound: the origin does not have the stream.
	ErrNotFound = errors.New("edge: the origin does not have the stream")
	// ErrDenied: the origin does not give the stream to this server.
	ErrDenied = errors.New("edge: the origin refuses")
	// ErrLoop: the request has passed this server before, or too many servers.
	ErrLoop = errors.New("edge: servers pull from one another in a circle")
	// ErrTooMany: the maximum number of pulls is reached.
	ErrTooMany = errors.New("edge: too many streams are pulled")
	// ErrClosed: the puller was closed.
	ErrClosed = errors.New("edge: closed")
)

var (
	errUnwanted  = errors.New("edge: no viewers are left")
	errStart     = errors.New("edge: the origin sends no frame in time")
	errAnswer    = errors.New("edge: the origin does not answer, and others are asked")
	errTrickle   = errors.New("edge: the origin sends bytes, and no whole frame in time")
	errElsewhere = errors.New("edge: the stream is elsewhere now")
	errOver      = errors.New("edge: the origin ended the stream")
)
