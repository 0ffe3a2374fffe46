package sluice

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Errors that callers match with errors.Is. With an allocator that has a budget
// there is mem.ErrBudget too: what a call has to hold at once could never fit, or
// there is no room now and the reader is fed and does not wait. The error of a
// wait for room that was ended matches it and its reason.
var (
	// ErrTooLong: the input goes on past a limit, or has a number that does not
	// fit: an int where that is 32 bits wide, a varint of 64 bits. The bytes are
	// still in the reader.
	ErrTooLong = errors.New("sluice: limit exceeded")
	// ErrShort: a fed reader has not been fed enough for this call, which has
	// consumed nothing. Feed it and call again.
	ErrShort = errors.New("sluice: not enough input yet")
	// ErrClosed: the reader or writer was recycled, or is a zero value.
	ErrClosed = errors.New("sluice: used after Recycle or before Reset")
)

// These are ErrTooLong of what is not counted in bytes.
const (
	errFields = tooLong("too many header fields")
	errNumber = tooLong("number too large")
)

type tooLong string

func (e tooLong) Error() string { return string(e) }
func (e tooLong) Unwrap() error { return ErrTooLong }

// Error says which call failed, why, and how far it had come. Err is the
// reason, for errors.Is and errors.As.
type Error struct {
	Done int64 // bytes that a streaming call had handed on, or a writer had written
	Err  error

	// For the text.
	op    string // the method: "ReadLine"
	limit int64  // bytes that were asked for or allowed; 0 when there was no such number
	got   int64  // bytes there were

	netError
}

// netError makes an *Error a net.Error, for programs that ask err.(net.Error) for
// Timeout, as they did with bufio. Its Temporary is deprecated there, and false here.
type netError struct{}

func (netError) Temporary() bool { return false }

func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString("sluice: ")
	s.WriteString(e.op)
	switch {
	case e.Err == ErrTooLong:
		fmt.Fprintf(&s, ": %d bytes or more, limit %d", e.got, e.limit)
	case errors.Is(e.Err, ErrTooLong) && e.limit != 0:
		fmt.Fprintf(&s, ": %d or more, limit %d", e.got, e.limit)
	case e.limit < 0: // a length from a peer's message can be negative
		fmt.Fprintf(&s, " of %d bytes", e.limit)
	case e.limit != 0:
		fmt.Fprintf(&s, ": %d of %d bytes", max(e.got, e.Done), e.limit)
	case e.Done != 0:
		fmt.Fprintf(&s, " after %d bytes", e.Done)
	}
	if e.Err != nil {
		s.WriteString(": ")
		s.WriteString(strings.TrimPrefix(e.Err.Error(), "sluice: "))
	}
	return s.String()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether the reason is a deadline, for os.IsTimeout and
// net.Error, which an *Error is.
func (e *Error) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.Is(e.Err, os.ErrDeadlineExceeded) || errors.As(e.Err, &t) && t.Timeout()
}

// inside makes the error of a call that wants n bytes at once and finds the
// source ended or failed with got of them there. io.EOF is for the boundary.
func inside(op string, n, got int, err error) error {
	if err != io.EOF || got == 0 {
		return err
	}
	return &Error{op: op, limit: int64(n), got: int64(got), Err: io.ErrUnexpectedEOF}
}

// broken makes the error of a streaming call that has handed on done of n bytes.
func broken(op string, n, done int64, err error) error {
	if done == 0 {
		return err
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &Error{op: op, limit: n, Done: done, Err: err}
}
