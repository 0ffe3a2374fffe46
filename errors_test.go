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
		{sluice.NewError("Next", 10, 3, 0, io.ErrUnexpectedEOF), "sluice: Next: 3 of 10 bytes: unexpected EOF"},
		{sluice.NewError("Next", -3, 0, 0, bufio.ErrNegativeCount), "sluice: Next of -3 bytes: bufio: negative count"},
		{sluice.NewError("Skip", 10, 0, 4, errSource), "sluice: Skip: 4 of 10 bytes: the source broke"},
		{sluice.NewError("WriteTo", 0, 0, 7, errSource), "sluice: WriteTo after 7 bytes: the source broke"},
		{sluice.NewError("ReadLine", 65536, 70000, 0, sluice.ErrTooLong), "sluice: ReadLine: 70000 bytes or more, limit 65536: limit exceeded"},
		{sluice.NewError("read", 0, 0, 0, os.ErrDeadlineExceeded), "sluice: read: i/o timeout"},
		{sluice.NewError("read", 0, 0, 0, sluice.ErrShort), "sluice: read: not enough input yet"},
		{sluice.NewError("read", 0, 0, 0, nil), "sluice: read"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%#v says %q, want %q", c.err, got, c.want)
		}
	}
}

// TestErrorsOfCalls looks at what real calls return: that it is matched, that
// its fields have the numbers, and that a person can read it.
func TestErrorsOfCalls(t *testing.T) {
	small := sluice.Options{Line: 10, Header: 50, Frame: 100}
	for _, c := range []struct {
		name, data string
		call       func(r *sluice.BufReader) error
		is         error
		want       *sluice.Error
		text       []string
	}{
		{"end inside a frame", "abc", func(r *sluice.BufReader) error { _, err := r.ReadBuf(9); return err },
			io.ErrUnexpectedEOF, sluice.NewError("ReadBuf", 9, 3, 0, nil), []string{"ReadBuf", "3 of 9 bytes"}},
		{"end inside a Memory", "abc", func(r *sluice.BufReader) error { _, err := r.ReadBytes(9); return err },
			io.ErrUnexpectedEOF, sluice.NewError("ReadBytes", 9, 3, 0, nil), []string{"ReadBytes", "3 of 9 bytes"}},
		{"end inside a number", "abc", func(r *sluice.BufReader) error { _, err := r.ReadBE(4); return err },
			io.ErrUnexpectedEOF, sluice.NewError("ReadBE", 4, 3, 0, nil), []string{"ReadBE:", "3 of 4 bytes"}},
		{"end inside a range", "abc", func(r *sluice.BufReader) error { return r.ReadRange(9, func([]byte) {}) },
			io.ErrUnexpectedEOF, sluice.NewError("ReadRange", 9, 0, 3, nil), []string{"ReadRange", "3 of 9 bytes"}},
		{"end inside a line", "abc", func(r *sluice.BufReader) error { _, err := r.ReadLine(); return err },
			io.ErrUnexpectedEOF, sluice.NewError("ReadLine", 0, 3, 0, nil), []string{"ReadLine:"}},
		{"end inside a borrowed line", "abc", func(r *sluice.BufReader) error { _, err := r.ReadLineSlice(); return err },
			io.ErrUnexpectedEOF, sluice.NewError("ReadLineSlice", 0, 3, 0, nil), []string{"ReadLineSlice:"}},
		{"borrowed line too long", "more than ten", func(r *sluice.BufReader) error { _, err := r.ReadLineSlice(); return err },
			sluice.ErrTooLong, sluice.NewError("ReadLineSlice", 10, 13, 0, nil), []string{"ReadLineSlice:", "13", "10"}},
		{"negative frame", "abc", func(r *sluice.BufReader) error { _, err := r.Next(-7); return err },
			bufio.ErrNegativeCount, sluice.NewError("Next", -7, 0, 0, nil), []string{"Next", "-7", "negative"}},
		{"frame too long", "abc", func(r *sluice.BufReader) error { _, err := r.Next(101); return err },
			sluice.ErrTooLong, sluice.NewError("Next", 100, 101, 0, nil), []string{"Next", "101", "100"}},
		{"Memory too long", "abc", func(r *sluice.BufReader) error { _, err := r.ReadBytes(101); return err },
			sluice.ErrTooLong, sluice.NewError("ReadBytes", 100, 101, 0, nil), []string{"ReadBytes", "101", "100"}},
		{"Peek too long", "abc", func(r *sluice.BufReader) error { _, err := r.Peek(101); return err },
			sluice.ErrTooLong, sluice.NewError("Peek", 100, 101, 0, nil), []string{"Peek", "101", "100"}},
		{"slice too long", strings.Repeat("x", 200), func(r *sluice.BufReader) error { _, err := r.ReadSlice('y'); return err },
			sluice.ErrTooLong, sluice.NewError("ReadSlice", 100, 200, 0, nil), []string{"ReadSlice", "100"}},
		{"line too long", strings.Repeat("x", 200), func(r *sluice.BufReader) error { _, err := r.ReadLine(); return err },
			sluice.ErrTooLong, sluice.NewError("ReadLine", 10, 200, 0, nil), []string{"ReadLine", "10"}},
		{"header too long", strings.Repeat("a: b\n", 20) + "\n", func(r *sluice.BufReader) error {
			r.SetLimits(sluice.Options{Header: 50})
			_, err := r.ReadMIMEHeader()
			return err
		}, sluice.ErrTooLong, sluice.NewError("ReadMIMEHeader", 50, 54, 0, nil), []string{"ReadMIMEHeader", "50", "bytes"}},
		{"too many fields", strings.Repeat("a: b\n", 1020) + "\n", func(r *sluice.BufReader) error {
			r.SetLimits(sluice.Options{})
			_, err := r.ReadMIMEHeader()
			return err
		}, sluice.ErrTooLong, sluice.NewError("ReadMIMEHeader", 1000, 1001, 0, nil), []string{"ReadMIMEHeader", "fields", "1000", "1001"}},
		{"recycled", "abc", func(r *sluice.BufReader) error { r.Recycle(); _, err := r.Next(1); return err },
			sluice.ErrClosed, nil, []string{"sluice", "Recycle"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readerOf(t, paranoid(t), 0, strings.NewReader(c.data))
			r.SetLimits(small)
			err := c.call(r)
			if !errors.Is(err, c.is) {
				t.Fatalf("%v is not %v", err, c.is)
			}
			var e *sluice.Error
			if c.want != nil {
				if !errors.As(err, &e) {
					t.Fatalf("%#v is not an *Error", err)
				}
				c.want.Err = e.Err
				if *e != *c.want {
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

func TestErrorKnowsTimeouts(t *testing.T) {
	for _, c := range []struct {
		err     error
		timeout bool
	}{
		{os.ErrDeadlineExceeded, true},
		{context.DeadlineExceeded, true},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, true},
		{sluice.NewError("read", 0, 0, 0, os.ErrDeadlineExceeded), true},
		{context.Canceled, false},
		{io.ErrUnexpectedEOF, false},
		{nil, false},
	} {
		var err error = sluice.NewError("Skip", 0, 0, 3, c.err)
		if os.IsTimeout(err) != c.timeout {
			t.Errorf("Timeout of %v is %v", c.err, !c.timeout)
		}
		// As over a connection, code that looks for a net.Error finds one.
		var ne net.Error
		if c.timeout && (!errors.As(err, &ne) || !ne.Timeout()) {
			t.Errorf("%v is no net.Error of a timeout", err)
		}
		if ne, ok := err.(net.Error); !ok || ne.Timeout() != c.timeout {
			t.Errorf("%v is not itself a net.Error, or not of that kind", err)
		}
	}
}

func TestErrBudgetIsThatOfMem(t *testing.T) {
	a := mem.New(mem.Options{Budget: 1 << 10})
	r := readerOf(t, a, 0, strings.NewReader(strings.Repeat("x", 5000)))
	_, err := r.Next(4000)
	if !errors.Is(err, mem.ErrBudget) {
		t.Errorf("%v for a frame larger than the budget", err)
	}
}

func TestSentinelsAreDifferent(t *testing.T) {
	all := []error{sluice.ErrTooLong, sluice.ErrShort, sluice.ErrClosed, mem.ErrBudget}
	for i, a := range all {
		for k, b := range all {
			if (i == k) != errors.Is(a, b) {
				t.Errorf("%q and %q: errors.Is is %v", a, b, errors.Is(a, b))
			}
			if errors.Is(sluice.NewError("Next", 0, 0, 0, a), b) != (i == k) {
				t.Errorf("%q in an Error is not told from %q", a, b)
			}
		}
	}
}
