package sluice_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// wanting are the calls that want n bytes, each with how it is to fail when the
// stream ends too soon.
var wanting = []struct {
	name string
	n    int
	call func(r *sluice.BufReader, n int) error
	// streams: what there was is consumed; else nothing is.
	streams bool
	// plain: io.EOF inside too, as with bufio.
	plain bool
}{
	{name: "Next", n: 10, call: func(r *sluice.BufReader, n int) error { _, err := r.Next(n); return err }},
	{name: "Next", n: 100_000, call: func(r *sluice.BufReader, n int) error { _, err := r.Next(n); return err }},
	{name: "Peek", n: 10, plain: true, call: func(r *sluice.BufReader, n int) error { _, err := r.Peek(n); return err }},
	{name: "Peek", n: 100_000, plain: true, call: func(r *sluice.BufReader, n int) error { _, err := r.Peek(n); return err }},
	{name: "ReadBuf", n: 10, call: discardBuf},
	{name: "ReadBuf", n: 100_000, call: discardBuf},
	{name: "ReadBytes", n: 10, call: discardBytes},
	{name: "ReadBytes", n: 100_000, call: discardBytes},
	{name: "ReadBE", n: 4, call: func(r *sluice.BufReader, n int) error { _, err := r.ReadBE(n); return err }},
	{name: "ReadBE32", n: 4, call: func(r *sluice.BufReader, n int) error { _, err := r.ReadBE32(n); return err }},
	{name: "ReadLE32", n: 4, call: func(r *sluice.BufReader, n int) error { _, err := r.ReadLE32(n); return err }},
	{name: "ReadRange", n: 10, streams: true, call: func(r *sluice.BufReader, n int) error { return r.ReadRange(n, func([]byte) {}) }},
	{name: "ReadRange", n: 100_000, streams: true, call: func(r *sluice.BufReader, n int) error { return r.ReadRange(n, func([]byte) {}) }},
	{name: "Skip", n: 10, streams: true, call: func(r *sluice.BufReader, n int) error { return r.Skip(n) }},
	{name: "Discard", n: 10, streams: true, plain: true, call: func(r *sluice.BufReader, n int) error { _, err := r.Discard(n); return err }},
	{name: "ReadLine", n: 10, streams: true, call: func(r *sluice.BufReader, _ int) error { _, err := r.ReadLine(); return err }},
	{name: "ReadLineSlice", n: 10, streams: true, call: func(r *sluice.BufReader, _ int) error { _, err := r.ReadLineSlice(); return err }},
	{name: "ReadSlice", n: 10, streams: true, plain: true, call: func(r *sluice.BufReader, _ int) error { _, err := r.ReadSlice('\n'); return err }},
	{name: "ReadMIMEHeader", n: 10, call: func(r *sluice.BufReader, _ int) error { _, err := r.ReadMIMEHeader(); return err }},
}

func discardBuf(r *sluice.BufReader, n int) error {
	b, err := r.ReadBuf(n)
	if err == nil {
		b.Release()
	}
	return err
}

func discardBytes(r *sluice.BufReader, n int) error {
	m, err := r.ReadBytes(n)
	if err == nil {
		m.Release()
	}
	return err
}

func TestStreamThatEndsAtABoundaryIsEOF(t *testing.T) {
	for _, c := range wanting {
		r := readerOf(t, paranoid(t), 0, strings.NewReader("xyz"))
		if err := r.Skip(3); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := c.call(r, c.n); err != io.EOF {
				t.Errorf("%s(%d): %v, want io.EOF as it is", c.name, c.n, err)
			}
		}
	}
	for _, c := range []struct {
		name string
		call func(r *sluice.BufReader) error
	}{
		{"ReadByte", func(r *sluice.BufReader) error { _, err := r.ReadByte(); return err }},
		{"Read", func(r *sluice.BufReader) error { _, err := r.Read(make([]byte, 3)); return err }},
	} {
		if err := c.call(readerOf(t, paranoid(t), 0, strings.NewReader(""))); err != io.EOF {
			t.Errorf("%s: %v, want io.EOF as it is", c.name, err)
		}
	}
}

func TestStreamThatEndsInsideIsUnexpected(t *testing.T) {
	for _, c := range wanting {
		for _, src := range []io.Reader{strings.NewReader("x:y"), iotest.OneByteReader(strings.NewReader("x:y")), iotest.DataErrReader(strings.NewReader("x:y"))} {
			r := readerOf(t, paranoid(t), 0, src)
			err := c.call(r, c.n)
			if c.plain {
				if err != io.EOF {
					t.Errorf("%s(%d): %v, want io.EOF as it is", c.name, c.n, err)
				}
			} else {
				if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
					t.Errorf("%s(%d): %v, want io.ErrUnexpectedEOF", c.name, c.n, err)
				}
				var e *sluice.Error
				if !errors.As(err, &e) || max(sluice.GotOf(e), e.Done) < 3 {
					t.Errorf("%s(%d): %#v does not say that there were 3 bytes", c.name, c.n, err)
				}
			}
			left := 3
			if c.streams {
				left = 0
			}
			if n := r.Buffered(); n != left {
				t.Errorf("%s(%d): %d bytes are left, want %d", c.name, c.n, n, left)
			}
		}
	}
}

func TestSourceThatFailsInsideKeepsItsError(t *testing.T) {
	for _, c := range wanting {
		r := readerOf(t, paranoid(t), 0, replies(reply{"x", nil}, reply{"yz", errSource}, reply{strings.Repeat("a:"+strings.Repeat("b", 400)+"\n", 500) + "\n", nil}))
		err := c.call(r, c.n)
		if !errors.Is(err, errSource) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s(%d): %v, want the source's error", c.name, c.n, err)
		}
		if c.streams {
			continue
		}
		if n := r.Buffered(); n != 3 {
			t.Errorf("%s(%d): %d bytes are left, want 3", c.name, c.n, n)
		}
		// It was the call that failed, not the reader.
		if err := c.call(r, c.n); err != nil {
			t.Errorf("%s(%d) again: %v", c.name, c.n, err)
		}
	}
}

func TestFailedPeekChangesNothing(t *testing.T) {
	for _, bufLen := range []int{0, 16, 100} {
		for _, had := range []int{0, 1, 15, 16, 17, 5000, 70_000, 200_000} {
			for _, ask := range []int{had + 1, had + 1000, had + 300_000} {
				t.Run(fmt.Sprintf("BufLen %d, Peek(%d) of %d", bufLen, ask, had), func(t *testing.T) {
					data := testData(had)
					r := readerOf(t, paranoid(t), bufLen, bytes.NewReader(data))
					for range 2 {
						p, err := r.Peek(ask)
						if err != io.EOF || !bytes.Equal(p, data) {
							t.Fatalf("%d bytes, %v", len(p), err)
						}
						if r.TotalRead()-int64(r.Buffered()) != 0 {
							t.Fatal("bytes were consumed")
						}
					}
					if p, err := r.Next(had); err != nil || !bytes.Equal(p, data) {
						t.Fatalf("Next after it: %d bytes, %v", len(p), err)
					}
				})
			}
		}
	}
}

func TestFailedPeekLeavesTheMarkAndWhatIsHeld(t *testing.T) {
	data := testData(1000)
	r := readerOf(t, paranoid(t), 16, bytes.NewReader(data))
	held, err := r.ReadBuf(5)
	if err != nil {
		t.Fatal(err)
	}
	r.Mark()
	if _, err := r.Next(10); err != nil {
		t.Fatal(err)
	}
	if p, err := r.Peek(2000); err != io.EOF || !bytes.Equal(p, data[15:]) {
		t.Fatalf("Peek: %d bytes, %v", len(p), err)
	}
	r.Rollback()
	if p, err := r.Next(995); err != nil || !bytes.Equal(p, data[5:]) {
		t.Fatalf("after Rollback: %d bytes, %v", len(p), err)
	}
	if !bytes.Equal(held.Bytes(), data[:5]) {
		t.Error("the Buf that is held has changed")
	}
	held.Release()
}

// A reader that has come to the end holds no memory, recycled or not.
func TestReaderAtTheEndHoldsNothing(t *testing.T) {
	for _, most := range []int{1, 100, 5000} {
		a := mem.New(mem.Options{})
		r := sluice.NewBufReader(&pieces{data: testData(10_000), next: every(most)}, sluice.Options{Allocator: a})
		for {
			if _, err := r.Next(100); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if n := a.Stats().CheckedOut; n != 0 {
			t.Errorf("pieces of %d: %d blocks are out at the end", most, n)
		}
		r.Recycle()
	}
}
