package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// ErrReply is a reply that does not belong to the request, or is not of the protocol.
var ErrReply = errors.New("load: wrong answer")

// ErrIdle is a target that says that it ends a connection on which no request came.
var ErrIdle = errors.New("load: the target ended an idle connection")

// ErrTarget is a target, or an option of its requests, that makes no sense.
var ErrTarget = errors.New("load")

// A Class is a kind of reply.
type Class struct {
	Name   string
	Failed bool // the target could not do what the request asked for
}

// A Request is one request of a connection.
type Request struct {
	Conn uint32 // of the connection
	Seq  uint64 // of the request on it
	Size int    // payload bytes
	Sent int    // bytes of it that have been sent
}

// An Outcome describes a complete reply.
type Outcome struct {
	Done    bool   // false: the reply is not complete, and the rest means nothing
	Last    bool   // the target ends the connection after this reply
	Class   int    // the index of the reply's class in Target.Classes
	Payload int    // bytes
	Says    string // of the first failing reply of a connection: what it says
}

// A Protocol writes the requests of one connection and reads their replies, which
// come in the order of the requests.
type Protocol interface {
	// Len is how many bytes a request has, at least 1.
	Len(r *Request) int
	// Bytes returns bytes of a request from offset off on, at least one, not
	// necessarily all. They are borrowed until the next call.
	Bytes(r *Request, off int) []byte
	// Reply reads p, the next bytes of the connection, as the reply to r. It
	// returns how many of them belong to it. p is not empty. Errors are ErrReply.
	Reply(r *Request, p []byte) (n int, o Outcome, err error)
	// End is called when the target has ended the connection: it may complete
	// the reply to r.
	End(r *Request) Outcome
}

// A Pusher is a Protocol whose target may send messages that answer no request. Reply
// skips those that come before the reply.
type Pusher interface {
	// Pushed reads p, the next bytes of a connection without a request under way. It
	// returns how many of them belong to such a message, 0 when they are none.
	Pushed(p []byte) (n int, err error)
}

// An Acknowledger is a Protocol whose replies carry a number.
type Acknowledger interface {
	Number() uint64        // of the reply that was completed last
	Sum(r *Request) uint32 // CRC-32C of a request's payload
}

// A Caller carries out requests that cannot be written and read as a stream of
// bytes. Its methods may be called from any goroutine.
type Caller interface {
	// Call carries out one request and returns when its reply is complete. The Payload of one that failed is what had come.
	Call(ctx context.Context, r *Request) (Outcome, error)
	Close() error
}

// closed is End for protocols whose replies never end with the connection.
type closed struct{}

func (closed) End(*Request) Outcome { return Outcome{} }

// mostLine bounds a line, or the head of a reply of HTTP, in bytes.
const mostLine = 64 << 10

// pieces are what has come of a line that is not whole.
type pieces []byte

// read returns the line up to a LF, borrowed until the next call, and nil while it is not whole.
// n is how many bytes of p belong to it and to the LF.
func (s *pieces) read(p []byte) (line []byte, n int, err error) {
	n = bytes.IndexByte(p, '\n') + 1
	if n == 0 {
		n = len(p)
	}
	if len(*s)+n > mostLine {
		return nil, n, fmt.Errorf("%w: a line of more than %d bytes", ErrReply, mostLine)
	}
	line = p[:n]
	if whole := n > 0 && p[n-1] == '\n'; len(*s) > 0 || !whole {
		if *s = append(*s, line...); !whole {
			return nil, n, nil
		}
		line, *s = *s, (*s)[:0]
	}
	return line[: len(line)-1 : len(line)-1], n, nil
}
