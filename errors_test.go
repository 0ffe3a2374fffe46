package sluice_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

func TestErrorTexts(t *testing.T) {
	for _, c := range []struct {
		err  *sluice.Error
		want string
	}{
		{&sluice.Error{Op: "Next", Limit: 10, Got: 3, Err: io.ErrUnexpectedEOF}, "sluice: Next: 3 of 10 bytes: unexpected EOF"},
		{&sluice.Error{Op: "Next", Limit: -3, Err: bufio.ErrNegativeCount}, "sluice: Next of -3 bytes: bufio: negative count"},
		{&sluice.Error{Op: "Skip", Limit: 10, Done: 4, Err: errSource}, "sluice: Skip: 4 of 10 bytes: the source broke"},
		{&sluice.Error{Op: "WriteTo", Done: 7, Err: errSource}, "sluice: WriteTo after 7 bytes: the source broke"},
		{&sluice.Error{Op: "ReadLine", Limit: 65536, Got: 70000, Err: sluice.ErrTooLong}, "sluice: ReadLine: 70000 bytes or more, limit 65536: limit exceeded"},
		{&sluice.Error{Op: "read", Err: os.ErrDeadlineExceeded}, "sluice: read: i/o timeout"},
		{&sluice.Error{Op: "read", Err: sluice.ErrShort}, "sluice: read: not enough input yet"},
		{&sluice.Error{Op: "read"}, "sluice: read"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%#v says %q, want %q", c.err, got, c.want)
		}
	}
}

// TestErrorsOfCalls looks at what real calls return: that it is matched, that
// its fields have the numbers, and that a person can read it.
func TestErrorsOfCalls(t *testing.T) {
	small := sluice.Limits{Line: 10, Header: 50, Fields: 2, Frame: 100}
	for _, c := range []struct {
		name, data string
		call       func(r *sluice.BufReader) error
		is         error
		want       sluice.Error
		text       []string
	}{
		{"end inside a frame", "abc", func(r *sluice.BufReader) error { _, err := r.ReadBuf(9); return err },
			io.ErrUnexpectedEOF, sluice.Error{Op: "ReadBuf", Limit: 9, Got: 3}, []string{"ReadBuf", "3 of 9 bytes"}},
		{"end inside a Memory", "abc", func(r *sluice.BufReader) error { _, err := r.ReadBytes(9); return err },
			io.ErrUnexpectedEOF, sluice.Error{Op: "ReadBytes", Limit: 9, Got: 3}, []string{"ReadBytes", "3 of 9 bytes"}},
		{"end inside a number", "abc", func(r *sluice.BufReader) error { _, err := r.ReadBE(4); return err },
			io.ErrUnexpectedEOF, sluice.Error{Op: "ReadBE", Limit: 4, Got: 3}, []string{"ReadBE:", "3 of 4 bytes"}},
		{"end inside a range", "abc", func(r *sluice.BufReader) error { return r.ReadRange(9, func([]byte) {}) },
			io.ErrUnexpectedEOF, sluice.Error{Op: "ReadRange", Limit: 9, Done: 3}, []string{"ReadRange", "3 of 9 bytes"}},
		{"negative frame", "abc", func(r *sluice.BufReader) error { _, err := r.Next(-7); return err },
			bufio.ErrNegativeCount, sluice.Error{Op: "Next", Limit: -7}, []string{"Next", "-7", "negative"}},
		{"frame too long", "abc", func(r *sluice.BufReader) error { _, err := r.Next(101); return err },
			sluice.ErrTooLong, sluice.Error{Op: "Next", Limit: 100, Got: 101}, []string{"Next", "101", "100"}},
		{"Memory too long", "abc", func(r *sluice.BufReader) error { _, err := r.ReadBytes(101); return err },
			sluice.ErrTooLong, sluice.Error{Op: "ReadBytes", Limit: 100, Got: 101}, []string{"ReadBytes", "101", "100"}},
		{"Peek too long", "abc", func(r *sluice.BufReader) error { _, err := r.Peek(101); return err },
			sluice.ErrTooLong, sluice.Error{Op: "Peek", Limit: 100, Got: 101}, []string{"Peek", "101", "100"}},
		{"slice too long", strings.Repeat("x", 200), func(r *sluice.BufReader) error { _, err := r.ReadSlice('y'); return err },
			sluice.ErrTooLong, sluice.Error{Op: "ReadSlice", Limit: 100, Got: 200}, []string{"ReadSlice", "100"}},
		{"line too long", strings.Repeat("x", 200), func(r *sluice.BufReader) error { _, err := r.ReadLine(); return err },
			sluice.ErrTooLong, sluice.Error{Op: "ReadLine", Limit: 10, Got: 200}, []string{"ReadLine", "10"}},
		{"header too long", strings.Repeat("a: b\n", 20) + "\n", func(r *sluice.BufReader) error {
			r.SetLimits(sluice.Limits{Header: 50})
			_, err := r.ReadMIMEHeader()
			return err
		}, sluice.ErrTooLong, sluice.Error{Op: "ReadMIMEHeader", Limit: 50, Got: 54}, []string{"ReadMIMEHeader", "50", "bytes"}},
		{"too many fields", strings.Repeat("a: b\n", 20) + "\n", func(r *sluice.BufReader) error { _, err := r.ReadMIMEHeader(); return err },
			sluice.ErrTooLong, sluice.Error{Op: "ReadMIMEHeader", Limit: 2, Got: 3}, []string{"ReadMIMEHeader", "fields", "3", "2"}},
		{"recycled", "abc", func(r *sluice.BufReader) error { r.Recycle(); _, err := r.Next(1); return err },
			sluice.ErrClosed, sluice.Error{}, []string{"sluice", "Recycle"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readerOf(t, paranoid(t), 0, strings.NewReader(c.data))
			r.SetLimits(small)
			err := c.call(r)
			if !errors.Is(err, c.is) {
				t.Fatalf("%v is not %v", err, c.is)
			}
			var e *sluice.Error
			if c.want.Op != "" {
				if !errors.As(err, &e) {
					t.Fatalf("%#v is not an *Error", err)
				}
				if e.Op != c.want.Op || e.Limit != c.want.Limit || e.Got != c.want.Got || e.Done != c.want.Done {
					t.Errorf("%#v, want %#v", e, c.want)
				}
			}
			for _, part := range c.text {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			if n := strings.Count(err.Error(), "sluice:"); n > 1 {
				t.Errorf("%q names the package %d times", err, n)
			}
		})
	}
}

func TestErrorIsANetErrorThatKnowsTimeouts(t *testing.T) {
	for _, c := range []struct {
		err     error
		timeout bool
	}{
		{os.ErrDeadlineExceeded, true},
		{context.DeadlineExceeded, true},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, true},
		{&sluice.Error{Op: "read", Err: os.ErrDeadlineExceeded}, true},
		{context.Canceled, false},
		{io.ErrUnexpectedEOF, false},
		{nil, false},
	} {
		var err error = &sluice.Error{Op: "Skip", Done: 3, Err: c.err}
		var ne net.Error
		if !errors.As(err, &ne) {
			t.Fatalf("%#v is not a net.Error", err)
		}
		if ne.Timeout() != c.timeout {
			t.Errorf("Timeout of %v is %v", c.err, ne.Timeout())
		}
	}
}

func TestErrBudgetIsThatOfMem(t *testing.T) {
	if !errors.Is(sluice.ErrBudget, mem.ErrBudget) {
		t.Error("one cannot be matched with the other")
	}
	a := mem.New(mem.Options{Budget: 1 << 10})
	r := readerOf(t, a, 0, strings.NewReader(strings.Repeat("x", 5000)))
	_, err := r.Next(4000)
	if !errors.Is(err, sluice.ErrBudget) {
		t.Errorf("%v for a frame larger than the budget", err)
	}
}

func TestSentinelsAreDifferent(t *testing.T) {
	all := []error{sluice.ErrTooLong, sluice.ErrShort, sluice.ErrClosed, sluice.ErrOverflow, sluice.ErrBudget}
	for i, a := range all {
		for k, b := range all {
			if (i == k) != errors.Is(a, b) {
				t.Errorf("%q and %q: errors.Is is %v", a, b, errors.Is(a, b))
			}
			if errors.Is(&sluice.Error{Op: "Next", Err: a}, b) != (i == k) {
				t.Errorf("%q in an Error is not told from %q", a, b)
			}
		}
	}
}
