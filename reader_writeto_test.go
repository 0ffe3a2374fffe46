package sluice_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestWriteToWritesAllThatIsLeft(t *testing.T) {
	data := testData(rounds(100_000))
	for name, src := range sluicetest.Chunkings(data) {
		r := readerOf(t, paranoid(t), 0, src)
		if _, err := r.Next(10); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		n, err := r.WriteTo(&out)
		if n != int64(len(data)-10) || err != nil || !bytes.Equal(out.Bytes(), data[10:]) {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}

func TestWriteToTellsAnErrorOfTheSource(t *testing.T) {
	var out bytes.Buffer
	r := readerOf(t, paranoid(t), 0, replies(reply{"abc", nil}, reply{"def", errSource}))
	n, err := r.WriteTo(&out)
	var e *sluice.Error
	if n != 6 || !errors.Is(err, errSource) || !errors.As(err, &e) || e.Done != 6 || sluice.OpOf(e) != "WriteTo" {
		t.Errorf("%d, %v", n, err)
	}
	if out.String() != "abcdef" {
		t.Errorf("wrote %q", out.String())
	}
	r.Reset(replies(reply{"", errSource}))
	if n, err := r.WriteTo(&out); n != 0 || !errors.Is(err, errSource) {
		t.Errorf("with nothing before it: %d, %v", n, err)
	}
}

func TestWriteToTellsAnErrorOfTheWriterAndLosesNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		w    writerFunc
		want error
	}{
		{"error", func(p []byte) (int, error) { return 2, errSource }, errSource},
		{"short", func(p []byte) (int, error) { return 2, nil }, io.ErrShortWrite},
	} {
		r := readerOf(t, paranoid(t), 0, strings.NewReader("abcdef"))
		if n, err := r.WriteTo(c.w); n != 2 || !errors.Is(err, c.want) {
			t.Errorf("%s: %d, %v", c.name, n, err)
		}
		if p, err := r.Next(4); string(p) != "cdef" || err != nil {
			t.Errorf("%s: then %q, %v", c.name, p, err)
		}
	}
	for _, n := range []int{-1, 7} {
		r := readerOf(t, paranoid(t), 0, strings.NewReader("abcdef"))
		text := panicOf(func() { _, _ = r.WriteTo(writerFunc(func([]byte) (int, error) { return n, nil })) })
		if !strings.Contains(text, "sluice: ") {
			t.Errorf("a writer that took %d bytes: panic %q", n, text)
		}
	}
}

// A writer that fails may have ended the reader: what was taken before is not of the next
// stream.
func TestWriteToAWriterThatEndsTheReader(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error // of the writer
		want error
	}{
		{"and fails", errSource, errSource},
		{"and takes a part", nil, io.ErrShortWrite},
	} {
		r := readerOf(t, paranoid(t), 0, strings.NewReader("abcdef"))
		n, err := r.WriteTo(writerFunc(func([]byte) (int, error) {
			r.Recycle()
			return 2, c.err
		}))
		if n != 2 || !errors.Is(err, c.want) {
			t.Errorf("%s: %d, %v", c.name, n, err)
		}
		if _, err := r.ReadByte(); err != sluice.ErrClosed {
			t.Errorf("%s: then %v", c.name, err)
		}
		r.Reset(strings.NewReader("abcdef"))
		n, err = r.WriteTo(writerFunc(func([]byte) (int, error) {
			r.Reset(strings.NewReader("next"))
			return 2, c.err
		}))
		if n != 2 || !errors.Is(err, c.want) {
			t.Errorf("%s: %d, %v", c.name, n, err)
		}
		if p, err := r.Next(4); string(p) != "next" || err != nil {
			t.Errorf("%s: then %q, %v", c.name, p, err)
		}
	}
	// All was taken.
	r := readerOf(t, paranoid(t), 0, strings.NewReader("abcdef"))
	n, err := r.WriteTo(writerFunc(func(p []byte) (int, error) {
		r.Recycle()
		return 6, nil
	}))
	if n != 6 || err != sluice.ErrClosed {
		t.Errorf("%d, %v", n, err)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// What is left to the kernel takes no block. That is so too for a reader with limits, and for one
// whose timeout or context has ended.
func TestWriteToLeavesTheRestToTheKernel(t *testing.T) {
	for name, prepare := range map[string]func(*sluice.BufReader) error{
		"defaults": func(*sluice.BufReader) error { return nil },
		"limits":   func(r *sluice.BufReader) error { r.SetLimits(sluice.Options{Line: 100, Frame: 1000}); return nil },
		"a timeout that was ended": func(r *sluice.BufReader) error {
			return errors.Join(r.SetTimeout(time.Hour), r.SetTimeout(0))
		},
		"a context that was ended": func(r *sluice.BufReader) error {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			r.SetContext(ctx)
			r.SetContext(context.Background())
			return nil
		},
	} {
		a := mem.New(mem.Options{Name: name})
		from, near := tcpPair(t)
		out, far := tcpPair(t)
		r := sluice.NewBufReader(near, sluice.Options{Allocator: a})
		if err := prepare(r); err != nil {
			t.Fatal(err)
		}
		if _, err := from.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Peek(1); err != nil {
			t.Fatal(err)
		}
		before := a.Stats()
		const rest = 1 << 20
		sent := make(chan error, 1)
		go func() {
			_, err := from.Write(make([]byte, rest))
			sent <- errors.Join(err, from.CloseWrite())
		}()
		got := make(chan int64, 1)
		go func() {
			n, _ := io.Copy(io.Discard, far)
			got <- n
		}()
		if n, err := r.WriteTo(out); n != 1+rest || err != nil {
			t.Errorf("%s: WriteTo: %d, %v", name, n, err)
		}
		if err := errors.Join(<-sent, out.CloseWrite()); err != nil {
			t.Error(err)
		}
		if n := <-got; n != 1+rest {
			t.Errorf("%s: %d bytes came", name, n)
		}
		if s := a.Stats(); s.Hits+s.Misses != before.Hits+before.Misses {
			t.Errorf("%s: WriteTo took %d blocks", name, s.Hits+s.Misses-before.Hits-before.Misses)
		}
		r.Recycle()
	}
}
