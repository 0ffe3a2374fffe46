package sluice

import "github.com/sluice-go/sluice/internal/sizing"

// The bounds of the block size, for tests that watch it.
const (
	MinBlock = sizing.MinBlock
	MaxBlock = sizing.MaxBlock
)

// What the text of an Error is made of.
func OpOf(e *Error) string   { return e.op }
func LimitOf(e *Error) int64 { return e.limit }
func GotOf(e *Error) int64   { return e.got }

// NewError returns an Error with that text.
func NewError(op string, limit, got, done int64, err error) *Error {
	return &Error{Done: done, Err: err, op: op, limit: limit, got: got}
}

// SetCopyBelow sets the length below which b copies a Buf.
func SetCopyBelow(b *BufWriter, n int) { b.copyBelow = n }

// WrittenBy returns how many bytes b has written to its sink since Reset.
func WrittenBy(b *BufWriter) int64 { return b.written }
