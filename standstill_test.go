package sluice_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// A proxy's goroutine reads on one side while it has bytes of the other, or has not flushed: what
// it waits for may be its own.
func TestReadersDoNotWaitForEverForWhatIsKept(t *testing.T) {
	const size = 64 << 10
	full := func(a *mem.Allocator) bool { return a.Stats().Budget.Charged >= size }
	writer := func(write func(w *sluice.BufWriter, a *mem.Allocator) error) func(*testing.T, *mem.Allocator) func() {
		return func(t *testing.T, a *mem.Allocator) func() {
			w := sluice.NewBufWriter(io.Discard, sluice.Options{Allocator: a, BufLen: 1 << 20})
			for range 2 { // a Flush in between
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				for !full(a) {
					if err := write(w, a); err != nil {
						t.Fatal(err)
					}
				}
			}
			return func() {
				if err := w.Flush(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	for _, c := range []struct {
		name string
		keep func(t *testing.T, a *mem.Allocator) (free func())
	}{
		{"another reader", func(t *testing.T, a *mem.Allocator) func() {
			var all []*sluice.BufReader
			for !full(a) {
				r := sluice.NewBufReader(strings.NewReader(strings.Repeat("x", size)), sluice.Options{Allocator: a, BufLen: 16 << 10})
				if _, err := r.Next(16 << 10); err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			return func() {
				for _, r := range all {
					r.Recycle()
				}
			}
		}},
		{"Write", writer(func(w *sluice.BufWriter, _ *mem.Allocator) error {
			_, err := w.Write(make([]byte, 1000))
			return err
		})},
		{"WriteBuf", writer(func(w *sluice.BufWriter, a *mem.Allocator) error {
			return w.WriteBuf(partOf(a, 128<<10, 64<<10))
		})},
		{"WriteMemory", writer(func(w *sluice.BufWriter, a *mem.Allocator) error {
			return w.WriteMemory(mem.NewMemory(mem.Wrap(make([]byte, 100), nil), partOf(a, 32<<10, 1000)))
		})},
		{"ReadFrom", writer(func(w *sluice.BufWriter, _ *mem.Allocator) error {
			_, err := w.ReadFrom(strings.NewReader(strings.Repeat("x", 1000)))
			return err
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := watched(t, size)
			synctest.Test(t, func(t *testing.T) {
				free := c.keep(t, a)
				r := sluice.NewBufReader(strings.NewReader("hello, hello"), sluice.Options{Allocator: a})
				within(t, "Next", func() {
					if p, err := r.Next(5); string(p) != "hello" || err != nil {
						t.Errorf("%q, %v", p, err)
					}
				})
				r.Recycle()
				free()
				// What the program keeps is another matter.
				all := a.Get(size)
				read := make(chan error)
				r.Reset(strings.NewReader("hello"))
				go func() {
					_, err := r.Next(5)
					read <- err
				}()
				time.Sleep(time.Hour)
				select {
				case err := <-read:
					t.Errorf("a reader did not wait for what the program keeps: %v", err)
				default:
				}
				all.Release()
				<-read
				r.Recycle()
			})
		})
	}
}

// A writer that collects up to its bound would keep from the readers what they wait for.
func TestWriterCollectsLessWhenTheBudgetIsUsedUp(t *testing.T) {
	a, free := usedUp(t, 1<<20)
	defer free()
	w := sluice.NewBufWriter(io.Discard, sluice.Options{Allocator: a})
	defer w.Recycle()
	most := 0
	for range 200 {
		if _, err := w.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		most = max(most, w.Buffered())
	}
	if most > 16<<10 {
		t.Errorf("%d bytes wait", most)
	}
	for range 10 {
		if err := w.WriteMemory(mem.NewMemory(mem.Wrap(make([]byte, 5000), nil))); err != nil {
			t.Fatal(err)
		}
		if n := w.Buffered(); n > 16<<10 {
			t.Errorf("%d bytes wait", n)
		}
	}
}

// partOf returns n bytes of a block of size bytes.
func partOf(a *mem.Allocator, size, n int) mem.Buf {
	b := a.Get(size)
	defer b.Release()
	return b.RetainedSlice(100, 100+n)
}
