package rtsp

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/sluice-go/sluice"
)

// Errors that callers match with errors.Is. A server answers the first with 400,
// the second with 505, the third with 413 or 414, and closes.
var (
	// ErrSyntax: this is not RTSP, or not something that can be written as such.
	ErrSyntax = errors.New("rtsp: syntax error")
	// ErrVersion: the message is of another protocol or version, HTTP for one.
	ErrVersion = errors.New("rtsp: version not supported")
	// ErrTooLong: a message goes on past a limit.
	ErrTooLong = errors.New("rtsp: limit exceeded")
)

func syntax(what, text string) error {
	return fmt.Errorf("%w: %s %s", ErrSyntax, what, quoted(text))
}

func tooLong[N int | uint64](what string, n N, limit int) error {
	return fmt.Errorf("%w: %s of %d, limit %d", ErrTooLong, what, n, limit)
}

// quoted cuts what a peer sent to what a log can bear.
func quoted(text string) string {
	const most = 64
	if len(text) > most {
		return strconv.Quote(text[:most]) + "..."
	}
	return strconv.Quote(text)
}

// Limits bound one message. A field that is 0 has its default.
type Limits struct {
	// Line is the longest line in bytes, its end included. Default 8 KiB.
	Line int
	// Header is the longest header in bytes, with all its lines. Default 32 KiB.
	Header int
	// Fields is the largest number of header fields. Default 128.
	Fields int
	// Body is the longest body in bytes. Default 64 KiB.
	Body int
	// Interleaved is the longest payload of an interleaved frame in bytes.
	// Default 65,535, which is all that its length can say.
	Interleaved int
}

const (
	mostInterleaved = 1<<16 - 1
	// mostBlank is how many empty lines may come before a message.
	mostBlank = 16
)

func (l Limits) orDefault() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.Line, 8<<10)
	set(&l.Header, 32<<10)
	set(&l.Fields, 128)
	set(&l.Body, 64<<10)
	set(&l.Interleaved, mostInterleaved)
	return l
}

// below are the limits of the BufReader under a Reader.
func (l Limits) below() sluice.Options {
	const usual = 64 << 20 // Frame's default: what a fed reader may hold
	return sluice.Options{Line: l.Line, Frame: max(usual, l.Body)}
}
