package sluice_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// sending are calls that send, each 70,000 'A's.
var sending = map[string]func(w *sluice.BufWriter, a *mem.Allocator) error{
	"Write":    func(w *sluice.BufWriter, _ *mem.Allocator) error { _, err := w.Write(allOf('A', 70_000)); return err },
	"WriteBuf": func(w *sluice.BufWriter, a *mem.Allocator) error { return w.WriteBuf(filled(a, 'A', 70_000)) },
	"WriteString": func(w *sluice.BufWriter, _ *mem.Allocator) error {
		_, err := w.WriteString(string(allOf('A', 70_000)))
		return err
	},
	"WriteFrame": func(w *sluice.BufWriter, a *mem.Allocator) error {
		return w.WriteFrame(4, binary.BigEndian, filled(a, 'A', 70_000))
	},
	"WriteMemory": func(w *sluice.BufWriter, a *mem.Allocator) error {
		return w.WriteMemory(mem.NewMemory(filled(a, 'A', 9000), filled(a, 'A', 61_000)))
	},
	"ReadFrom": func(w *sluice.BufWriter, _ *mem.Allocator) error {
		_, err := w.ReadFrom(bytes.NewReader(allOf('A', 70_000)))
		return err
	},
	"Flush": func(w *sluice.BufWriter, a *mem.Allocator) error {
		return errors.Join(w.WriteBuf(filled(a, 'A', 60_000)), w.WriteBuf(filled(a, 'A', 10_000)), w.Flush())
	},
}

// coming are the calls that must not come into one of those.
var coming = map[string]func(w *sluice.BufWriter, a *mem.Allocator){
	"Recycle":     func(w *sluice.BufWriter, _ *mem.Allocator) { w.Recycle() },
	"Reset":       func(w *sluice.BufWriter, _ *mem.Allocator) { w.Reset(io.Discard) },
	"Flush":       func(w *sluice.BufWriter, _ *mem.Allocator) { _ = w.Flush() },
	"Write":       func(w *sluice.BufWriter, _ *mem.Allocator) { _, _ = w.Write([]byte("short")) },
	"long Write":  func(w *sluice.BufWriter, _ *mem.Allocator) { _, _ = w.Write(allOf('B', 9000)) },
	"WriteByte":   func(w *sluice.BufWriter, _ *mem.Allocator) { _ = w.WriteByte('B') },
	"WriteString": func(w *sluice.BufWriter, _ *mem.Allocator) { _, _ = w.WriteString("short") },
	"ReadFrom":    func(w *sluice.BufWriter, _ *mem.Allocator) { _, _ = w.ReadFrom(strings.NewReader("short")) },
	"WriteBuf":    func(w *sluice.BufWriter, a *mem.Allocator) { refused(a, 100, w.WriteBuf) },
	"long Buf":    func(w *sluice.BufWriter, a *mem.Allocator) { refused(a, 70_000, w.WriteBuf) },
	"WriteFrame": func(w *sluice.BufWriter, a *mem.Allocator) {
		refused(a, 100, func(p mem.Buf) error { return w.WriteFrame(1, nil, p) })
	},
	"WriteMemory": func(w *sluice.BufWriter, a *mem.Allocator) {
		m := mem.NewMemory(filled(a, 'B', 100))
		defer m.Release() // a call that is refused takes nothing
		_ = w.WriteMemory(m)
	},
}

// refused offers write a Buf, and releases it: a call that is refused takes nothing.
func refused(a *mem.Allocator, n int, write func(mem.Buf) error) {
	p := filled(a, 'B', n)
	defer p.Release()
	_ = write(p)
}

func allOf(c byte, n int) []byte { return bytes.Repeat([]byte{c}, n) }

func filled(a *mem.Allocator, c byte, n int) mem.Buf {
	b := a.Get(n)
	copy(b.Bytes(), allOf(c, n))
	return b
}

// overwritten takes blocks of a's, if any that are being sent are among the free
// ones, and writes them.
func overwritten(a *mem.Allocator) {
	for n := 256; n < 256<<10; n *= 2 {
		for range 2 {
			b := filled(a, 'B', n)
			defer b.Release()
		}
	}
}

// The caller's mistake. The peer must not be sent bytes of another owner, and the
// call that sends is not disturbed.
func TestWriterIsNotUsedWhileItSends(t *testing.T) {
	for name, send := range sending {
		for other, call := range coming {
			for where, run := range map[string]func(func()){"another goroutine": aside, "the writer below": func(f func()) { f() }} {
				t.Run(name+"/"+other+"/"+where, func(t *testing.T) {
					a := paranoid(t)
					var out bytes.Buffer
					var w *sluice.BufWriter
					calls := 0
					w = writerOf(t, a, 0, writerFunc(func(p []byte) (int, error) {
						run(func() {
							if text := panicOf(func() { call(w, a) }); !strings.HasPrefix(text, "sluice: BufWriter was used while") {
								t.Errorf("panic %q", text)
							}
						})
						calls++
						overwritten(a)
						return out.Write(p)
					}))
					_, _ = w.WriteString("AAAA")
					if err := errors.Join(send(w, a), w.Flush()); err != nil {
						t.Error(err)
					}
					n := bytes.Count(out.Bytes(), []byte("A"))
					if rest := out.Len() - n; calls == 0 || n != 70_004 || rest != 0 && name != "WriteFrame" || rest > 4 {
						t.Errorf("%d of the bytes came in %d calls, and %d others", n, calls, rest)
					}
					// The writer is good for the next.
					out.Reset()
					w.Reset(&out)
					if _, err := w.WriteString("again"); err != nil || w.Flush() != nil || out.String() != "again" {
						t.Errorf("then %q, %v", out.String(), err)
					}
					w.Recycle()
					if n := holds(a); n != 0 {
						t.Errorf("%d blocks are held", n)
					}
				})
			}
		}
	}
}

// aside runs f in a goroutine and waits for it.
func aside(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

// The kernel has the pieces of one system call until all are out.
func TestWriterIsNotRecycledUnderOneSystemCall(t *testing.T) {
	if sys.Race {
		t.Skip("the mistake is a race; what keeps it harmless is not")
	}
	for _, network := range []string{"tcp", "unix"} {
		a := mem.New(mem.Options{}) // without poison, which would hide what came
		near, far := streamPair(t, network)
		w := writerOf(t, a, 1<<30, near)
		const pieces, size = 500, 64 << 10
		for range pieces {
			if err := w.WriteBuf(filled(a, 'A', size)); err != nil {
				t.Fatal(err)
			}
		}
		sent := make(chan error)
		goTest(t, func() { sent <- w.Flush() })
		// More than any buffer between the two holds: the call does not end before this reads.
		p := make([]byte, 1<<20)
		if _, err := io.ReadFull(far, p[:1]); err != nil {
			t.Fatal(err)
		}
		for name, call := range coming {
			if text := panicOf(func() { call(w, a) }); !strings.HasPrefix(text, "sluice: BufWriter was used while") {
				t.Errorf("%s: panic %q", name, text)
			}
		}
		overwritten(a)
		for left := pieces*size - 1; left > 0; {
			n, err := far.Read(p[:min(left, len(p))])
			if err != nil || bytes.Count(p[:n], []byte("A")) != n {
				t.Fatalf("%s: other bytes came, or %v", network, err)
			}
			left -= n
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
}

// What a function given to mem.Wrap does with the writer that releases the Buf
// would be lost.
func TestWriterIsNotUsedByAReleaseOfItsOwn(t *testing.T) {
	for name, call := range coming {
		a := paranoid(t)
		var out bytes.Buffer
		w := writerOf(t, a, 1<<20, &out)
		texts := []string{}
		list := mem.NewMemory()
		for range 3 {
			list.Append(mem.Wrap(allOf('A', 1000), func() { texts = append(texts, panicOf(func() { call(w, a) })) }))
		}
		if err := errors.Join(w.WriteMemory(list), w.Flush()); err != nil || out.String() != string(allOf('A', 3000)) {
			t.Errorf("%s: %d bytes, %v", name, out.Len(), err)
		}
		for _, text := range texts {
			if !strings.HasPrefix(text, "sluice: BufWriter was used while") {
				t.Errorf("%s: panic %q", name, text)
			}
		}
		if len(texts) != 3 {
			t.Errorf("%s: %d of 3 releases", name, len(texts))
		}
	}
}

// The caller's mistake: a copy of what was transferred is released while it waits.
// What lies there by then is of another owner, and is not sent.
func TestWriterDoesNotSendWhatWasReleased(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) (io.Writer, func() []byte){
		"one by one": func(*testing.T) (io.Writer, func() []byte) {
			var out bytes.Buffer
			return &out, out.Bytes
		},
		"tcp": func(t *testing.T) (io.Writer, func() []byte) {
			near, far := tcpPair(t)
			return near, func() []byte {
				_ = near.Close()
				p, _ := io.ReadAll(far)
				return p
			}
		},
	} {
		for _, whole := range []bool{false, true} {
			a := mem.New(mem.Options{})
			out, end := open(t)
			w := writerOf(t, a, 1<<20, out)
			_, _ = w.WriteString("head")
			_ = w.WriteBuf(filled(a, 'A', 80_000))
			if p := filled(a, 'A', 80_000); whole {
				m := mem.NewMemory(p)
				_ = w.WriteMemory(m)
				m.Release()
			} else {
				_ = w.WriteBuf(p)
				p.Release()
			}
			b := filled(a, 'B', 80_000)
			text := panicOf(func() { _ = w.Flush() })
			if !strings.HasPrefix(text, "sluice: BufWriter was transferred a Buf or Memory that was released") {
				t.Errorf("%s, a Memory %v: panic %q", name, whole, text)
			}
			var e *sluice.Error
			if err := w.Flush(); !errors.As(err, &e) || e.Done != 0 {
				t.Errorf("%s, a Memory %v: then %v", name, whole, err)
			}
			if p := end(); len(p) != 0 {
				t.Errorf("%s, a Memory %v: %d bytes were sent, %d of another owner", name, whole, len(p), bytes.Count(p, []byte("B")))
			}
			w.Recycle()
			b.Release()
			if n := holds(a); n != 0 {
				t.Errorf("%s, a Memory %v: %d blocks are held", name, whole, n)
			}
		}
	}
}
