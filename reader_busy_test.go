package sluice_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// whileReading are calls that must not come into a read of the same reader.
var whileReading = map[string]func(r *sluice.BufReader){
	"Recycle":   func(r *sluice.BufReader) { r.Recycle() },
	"Reset":     func(r *sluice.BufReader) { r.Reset(strings.NewReader("")) },
	"Reset nil": func(r *sluice.BufReader) { r.Reset(nil) },
	"Detach":    func(r *sluice.BufReader) { rest, _ := r.Detach(); rest.Release() },
	"Next":      func(r *sluice.BufReader) { _, _ = r.Next(400_000) },
	"ReadBuf": func(r *sluice.BufReader) {
		if b, err := r.ReadBuf(400_000); err == nil {
			b.Release()
		}
	},
	"ReadBytes": func(r *sluice.BufReader) {
		if m, err := r.ReadBytes(400_000); err == nil {
			m.Release()
		}
	},
	"Read":    func(r *sluice.BufReader) { _, _ = r.Read(make([]byte, 9000)) },
	"WriteTo": func(r *sluice.BufReader) { _, _ = r.WriteTo(io.Discard) },
}

// takeAll takes blocks of a's, all that are free among them, and writes them; the
// function that it returns reports whether they were written since.
func takeAll(a *mem.Allocator) (unchanged func() bool) {
	var bufs []mem.Buf
	for n := 256; n < 256<<10; n *= 2 {
		bufs = append(bufs, filled(a, 'B', n), filled(a, 'B', n))
	}
	return func() bool {
		same := true
		for i := range bufs {
			same = same && bytes.Count(bufs[i].Bytes(), []byte("B")) == bufs[i].Len()
			bufs[i].Release()
		}
		return same
	}
}

// closingFunc is a source that may wait, as its Close shows.
type closingFunc func(p []byte) (int, error)

func (f closingFunc) Read(p []byte) (int, error) { return f(p) }

func (f closingFunc) Close() error { return nil }

// The caller's mistake. A source that is inside Read has memory of the reader's:
// what it writes must not come into memory of another owner.
func TestReaderIsNotUsedWhileItsSourceReads(t *testing.T) {
	for name, call := range whileReading {
		for _, first := range []int{0, 1, 300} { // bytes that are there: see fill and readPlain
			if name == "Read" && first > 0 {
				continue
			}
			for _, want := range []int{1000, 20_000, 200_000} {
				for where, run := range map[string]func(func()){"another goroutine": aside, "the source": func(f func()) { f() }} {
					a := mem.New(mem.Options{}) // without poison, which would be written
					reads, wrong := 0, 0
					var r *sluice.BufReader
					r = readerOf(t, a, 0, closingFunc(func(p []byte) (int, error) {
						if reads++; reads == 1 && first > 0 {
							return copy(p[:min(len(p), first)], allOf('A', first)), nil
						}
						if reads > 5 || name == "Read" && reads > 1 { // Read takes what is there
							return copy(p, allOf('A', len(p))), nil
						}
						run(func() {
							if text := panicOf(func() { call(r) }); !strings.HasPrefix(text, "sluice: BufReader was used during a read") {
								t.Errorf("%s by %s: panic %q", name, where, text)
							}
						})
						unchanged := takeAll(a)
						n := copy(p, allOf('A', len(p)))
						if !unchanged() {
							wrong++
						}
						return n, nil
					}))
					if first > 0 {
						_, _ = r.Peek(1)
					}
					m, err := r.ReadBytes(want)
					if err != nil {
						t.Fatalf("%s by %s: %v", name, where, err)
					}
					if p := m.Bytes(); len(p) != want || bytes.Count(p, []byte("A")) != want {
						t.Errorf("%s by %s: other bytes were read", name, where)
					}
					m.Release()
					r.Recycle()
					if n := holds(a); wrong > 0 || n != 0 {
						t.Errorf("%s by %s, %d bytes of %d: other memory was written %d times, %d blocks are held", name, where, first, want, wrong, n)
					}
				}
			}
		}
	}
}

// A writer that is inside Write has a block of the reader's: what it sends is not
// of another owner, even when the reader is recycled under it.
func TestWriteToKeepsItsBytesUnderRecycle(t *testing.T) {
	data := allOf('A', 300_000)
	for name, source := range map[string]func(a *mem.Allocator) *sluice.BufReader{
		"plain": func(a *mem.Allocator) *sluice.BufReader { return readerOf(t, a, 0, bytes.NewReader(data)) },
		"shared": func(a *mem.Allocator) *sluice.BufReader {
			r := sluice.NewBufReaderFed(sluice.Options{Allocator: a})
			b := filled(a, 'A', 60_000)
			_ = r.FeedBuf(b.Retain())
			b.Release()
			return r
		},
		"bytes": func(a *mem.Allocator) *sluice.BufReader {
			return sluice.NewBufReaderBytes(bytes.Clone(data), sluice.Options{Allocator: a})
		},
	} {
		for other, call := range map[string]func(r *sluice.BufReader){
			"Recycle": func(r *sluice.BufReader) { r.Recycle() },
			"Reset":   func(r *sluice.BufReader) { r.Reset(strings.NewReader("next")) },
			"Detach":  func(r *sluice.BufReader) { rest, _ := r.Detach(); rest.Release() },
		} {
			for _, run := range []func(func()){aside, func(f func()) { f() }} {
				a := mem.New(mem.Options{})
				r := source(a)
				n, err := r.WriteTo(writerFunc(func(p []byte) (int, error) {
					run(func() { call(r) })
					unchanged := takeAll(a)
					if bytes.Count(p, []byte("A")) != len(p) || !unchanged() {
						t.Errorf("%s, %s: bytes of another owner were sent", name, other)
					}
					return len(p), nil
				}))
				if n == 0 || err != sluice.ErrClosed {
					t.Errorf("%s, %s: %d bytes, %v", name, other, n, err)
				}
				r.Recycle()
				if n := holds(a); n != 0 {
					t.Errorf("%s, %s: %d blocks are held", name, other, n)
				}
			}
		}
	}
}
