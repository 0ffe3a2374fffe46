package sluice_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// repeatable are the calls that a deadline leaves as if they had not been
// made. Each reads from text, and returns what it got.
var repeatable = []struct {
	name string
	text string
	call func(r *sluice.BufReader) (string, error)
	want string
}{
	{"Next", "abcdefgh", func(r *sluice.BufReader) (string, error) { p, err := r.Next(8); return string(p), err }, "abcdefgh"},
	{"Next of blocks", strings.Repeat("0123456789", 20_000), func(r *sluice.BufReader) (string, error) {
		p, err := r.Next(200_000)
		return string(p), err
	}, strings.Repeat("0123456789", 20_000)},
	{"ReadBuf", "abcdefgh", readBufString(8), "abcdefgh"},
	{"ReadBuf of blocks", strings.Repeat("0123456789", 20_000), readBufString(200_000), strings.Repeat("0123456789", 20_000)},
	{"ReadBytes", "abcdefgh", readBytesString(8), "abcdefgh"},
	{"ReadBytes of blocks", strings.Repeat("0123456789", 20_000), readBytesString(200_000), strings.Repeat("0123456789", 20_000)},
	{"ReadBE", "\x01\x02\x03\x04", func(r *sluice.BufReader) (string, error) { v, err := r.ReadBE(4); return fmt.Sprint(v), err }, "16909060"},
	{"ReadLE32", "\x01\x02\x03", func(r *sluice.BufReader) (string, error) { v, err := r.ReadLE32(3); return fmt.Sprint(v), err }, "197121"},
	{"ReadLine", "a line of text\r\n", func(r *sluice.BufReader) (string, error) { return r.ReadLine() }, "a line of text"},
	{"ReadLineSlice of blocks", strings.Repeat("x", 60_000) + "\n", func(r *sluice.BufReader) (string, error) {
		p, err := r.ReadLineSlice()
		return string(p), err
	}, strings.Repeat("x", 60_000)},
	{"ReadSlice", "until here|", func(r *sluice.BufReader) (string, error) { p, err := r.ReadSlice('|'); return string(p), err }, "until here|"},
	{"ReadMIMEHeader", "A: 1\r\nB: 2\r\n 3\r\n\r\n", func(r *sluice.BufReader) (string, error) {
		h, err := r.ReadMIMEHeader()
		return h.Get("A") + "," + h.Get("B"), err
	}, "1,2 3"},
	{"ReadMIMEHeader of blocks", strings.Repeat("A: "+strings.Repeat("v", 400)+"\n", 200) + "B: last\n\n", func(r *sluice.BufReader) (string, error) {
		h, err := r.ReadMIMEHeader()
		return fmt.Sprintf("%d %s", len(h["A"]), h.Get("B")), err
	}, "200 last"},
}

func readBufString(n int) func(r *sluice.BufReader) (string, error) {
	return func(r *sluice.BufReader) (string, error) {
		b, err := r.ReadBuf(n)
		if err != nil {
			return "", err
		}
		defer b.Release()
		return string(b.Bytes()), nil
	}
}

func readBytesString(n int) func(r *sluice.BufReader) (string, error) {
	return func(r *sluice.BufReader) (string, error) {
		m, err := r.ReadBytes(n)
		if err != nil {
			return "", err
		}
		defer m.Release()
		return string(m.Bytes()), nil
	}
}

// TestCallIsRepeatedAfterDeadlines repeats each call until it succeeds. Every
// read is preceded by a deadline that passes, so that one passes in every
// state that the call can be in.
func TestCallIsRepeatedAfterDeadlines(t *testing.T) {
	for _, c := range repeatable {
		for _, bufLen := range []int{0, 16} {
			t.Run(fmt.Sprintf("%s/BufLen %d", c.name, bufLen), func(t *testing.T) {
				for name, src := range sluicetest.TimeoutChunkings([]byte(c.text + "rest")) {
					if len(c.text) > 1000 && (strings.HasPrefix(name, "one byte") || strings.HasPrefix(name, "random 1 to 7")) {
						// One try for each byte, from the beginning each time.
						continue
					}
					r := readerOf(t, paranoid(t), bufLen, src)
					repeat(t, r, c.call, c.want, name)
					if rest := readAll(t, r); rest != "rest" {
						t.Fatalf("%s: then %q", name, rest)
					}
				}
			})
		}
	}
}

// repeat calls until no deadline passes.
func repeat(t *testing.T, r *sluice.BufReader, call func(r *sluice.BufReader) (string, error), want, name string) {
	t.Helper()
	for {
		got, err := call(r)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if n := r.TotalRead() - int64(r.Buffered()); n != 0 {
				t.Fatalf("%s: %v, and %d bytes were consumed", name, err, n)
			}
			continue
		}
		if err != nil || got != want {
			t.Fatalf("%s: %.40q (%d bytes), %v; want %.40q (%d bytes)", name, got, len(got), err, want, len(want))
		}
		return
	}
}

// readAll reads to the end, through deadlines.
func readAll(t *testing.T, r *sluice.BufReader) string {
	t.Helper()
	var all []byte
	p := make([]byte, 1000)
	for {
		n, err := r.Read(p)
		all = append(all, p[:n]...)
		switch {
		case err == io.EOF:
			return string(all)
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			t.Fatal(err)
		}
	}
}

// TestDeadlineOfAConnectionLeavesEverything lets a deadline pass when a part
// of what a call wants has come, over real connections.
func TestDeadlineOfAConnectionLeavesEverything(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "pipe"} {
		for _, c := range repeatable {
			t.Run(network+"/"+c.name, func(t *testing.T) {
				near, far := streamPair(t, network)
				part := len(c.text) * 3 / 4
				r := readerOf(t, paranoid(t), 0, near)
				goTest(t, func() { write(t, far, c.text[:part]) })
				if err := r.SetTimeout(time.Millisecond); err != nil {
					t.Fatal(err)
				}
				for r.Buffered() < part {
					_, err := c.call(r)
					var ne net.Error
					if !errors.As(err, &ne) || !ne.Timeout() {
						t.Fatalf("%v with %d of %d bytes there", err, r.Buffered(), len(c.text))
					}
					if int64(r.Buffered()) != r.TotalRead() {
						t.Fatalf("%d of %d bytes are left", r.Buffered(), r.TotalRead())
					}
				}
				goTest(t, func() { write(t, far, c.text[part:]) })
				repeat(t, r, c.call, c.want, network)
			})
		}
	}
}

// TestStreamingCallsSayHowFarTheyCame: these have consumed what they say.
func TestStreamingCallsSayHowFarTheyCame(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(r *sluice.BufReader, n int) error
	}{
		{"ReadRange", func(r *sluice.BufReader, n int) error { return r.ReadRange(n, func([]byte) {}) }},
		{"Skip", func(r *sluice.BufReader, n int) error { return r.Skip(n) }},
		{"WriteTo", func(r *sluice.BufReader, _ int) error { _, err := r.WriteTo(io.Discard); return err }},
	} {
		for _, had := range []int{1, 100, 5000, 150_000} {
			data := testData(had)
			r := readerOf(t, paranoid(t), 0, replies(reply{string(data), os.ErrDeadlineExceeded}, reply{"more", nil}))
			err := c.call(r, 1<<30)
			var e *sluice.Error
			if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &e) || sluice.OpOf(e) != c.name || e.Done != int64(had) || !e.Timeout() {
				t.Errorf("%s after %d bytes: %v", c.name, had, err)
			}
			if p, err := r.Next(4); string(p) != "more" || err != nil {
				t.Errorf("%s after %d bytes: then %q, %v", c.name, had, p, err)
			}
		}
	}
}

func TestDiscardSaysHowFarItCame(t *testing.T) {
	r := readerOf(t, paranoid(t), 0, replies(reply{"abc", os.ErrDeadlineExceeded}, reply{"de", nil}))
	if n, err := r.Discard(5); n != 3 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := r.Discard(5); n != 2 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
}

// TestRepeatedCallsHoldNoMoreThanHasCome lets a deadline pass after each byte.
func TestRepeatedCallsHoldNoMoreThanHasCome(t *testing.T) {
	const claim = 10 << 20
	for _, c := range []struct {
		name string
		call func(r *sluice.BufReader) error
	}{
		{"Next", func(r *sluice.BufReader) error { _, err := r.Next(claim); return err }},
		{"ReadBytes", func(r *sluice.BufReader) error { _, err := r.ReadBytes(claim); return err }},
	} {
		a := mem.New(mem.Options{})
		r := readerOf(t, a, 0, readerFunc(func(p []byte) (int, error) { return copy(p, "x"), os.ErrDeadlineExceeded }))
		for i := range 20_000 {
			if err := c.call(r); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("%s: %v", c.name, err)
			}
			if came := r.Buffered(); i%1000 == 0 {
				if out := a.Stats().OutBytes; out > int64(2*came+64<<10) {
					t.Fatalf("%s: %d bytes are checked out when %d have come", c.name, out, came)
				}
			}
		}
		if p, err := r.Next(20_000); err != nil || !bytes.Equal(p, bytes.Repeat([]byte("x"), 20_000)) {
			t.Errorf("%s: then %d bytes, %v", c.name, len(p), err)
		}
	}
}

func TestReadSliceAfterWhatPassesConsumesNothing(t *testing.T) {
	for _, passing := range []error{
		os.ErrDeadlineExceeded,
		fmt.Errorf("wrapped: %w", os.ErrDeadlineExceeded),
		&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded},
	} {
		r := readerOf(t, paranoid(t), 0, replies(reply{"half", passing}, reply{" and half|", nil}))
		if p, err := r.ReadSlice('|'); len(p) != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v: %q, %v", passing, p, err)
		}
		if p, err := r.ReadSlice('|'); string(p) != "half and half|" || err != nil {
			t.Errorf("%v: then %q, %v", passing, p, err)
		}
	}
	r := readerOf(t, paranoid(t), 0, replies(reply{"half", errSource}))
	if p, err := r.ReadSlice('|'); string(p) != "half" || err != errSource {
		t.Errorf("a source that failed: %q, %v", p, err)
	}
}
