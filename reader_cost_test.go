package sluice_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// watch is a source that looks at the allocator whenever it is read from: that
// is when a reader holds what it holds while it waits.
type watch struct {
	io.Reader
	a     *mem.Allocator
	reads int
	came  int64
	most  int64 // bytes checked out, at most
	// check, when it is not nil, is called with what has come and what is
	// checked out.
	check func(came, out int64)
}

func (w *watch) Read(p []byte) (int, error) {
	w.look()
	n, err := w.Reader.Read(p)
	w.reads++
	w.came += int64(n)
	return n, err
}

func (w *watch) look() {
	out := w.a.Stats().OutBytes
	w.most = max(w.most, out)
	if w.check != nil {
		w.check(w.came, out)
	}
}

// blockBytes returns the bytes of all blocks that were ever taken from a.
var blockBytes = hooks.Taken.(func(*mem.Allocator) int64)

// TestOneByteAtATimeCostsInProportion doubles the input and expects twice the
// cost: reads of the source, and bytes of blocks taken to move what is there.
func TestOneByteAtATimeCostsInProportion(t *testing.T) {
	line := func(n int) []byte { return append(bytes.Repeat([]byte("x"), n-1), '\n') }
	for _, c := range []struct {
		name string
		n    int
		data func(n int) []byte
		call func(r *sluice.BufReader, n int) error
	}{
		{"Next", 20_000, testData, func(r *sluice.BufReader, n int) error { _, err := r.Next(n); return err }},
		{"Next of 10", 20_000, testData, func(r *sluice.BufReader, n int) error {
			for range n / 10 {
				if _, err := r.Next(10); err != nil {
					return err
				}
			}
			return nil
		}},
		{"Next of blocks", 100_000, testData, func(r *sluice.BufReader, n int) error { _, err := r.Next(n); return err }},
		{"Peek byte by byte", 20_000, testData, func(r *sluice.BufReader, n int) error {
			for i := range n {
				if _, err := r.Peek(i + 1); err != nil {
					return err
				}
			}
			return nil
		}},
		{"ReadBytes", 100_000, testData, discardBytes},
		{"ReadBuf", 100_000, testData, discardBuf},
		{"ReadLine", 30_000, line, func(r *sluice.BufReader, _ int) error { _, err := r.ReadLine(); return err }},
		{"ReadSlice", 100_000, line, func(r *sluice.BufReader, _ int) error { _, err := r.ReadSlice('\n'); return err }},
		{"marked", 50_000, testData, func(r *sluice.BufReader, n int) error { r.Mark(); return r.Skip(n) }},
		{"ReadRange", 50_000, testData, func(r *sluice.BufReader, n int) error { return r.ReadRange(n, func([]byte) {}) }},
		{"ReadMIMEHeader", 20_000, func(n int) []byte {
			return append(bytes.Repeat([]byte("K: "+string(bytes.Repeat([]byte("v"), 96))+"\n"), n/100), '\n')
		}, func(r *sluice.BufReader, _ int) error { _, err := r.ReadMIMEHeader(); return err }},
	} {
		for _, bufLen := range []int{0, 16, 4096} {
			cost := func(n int) (reads int, blocks int64) {
				a := mem.New(mem.Options{})
				data := c.data(n)
				at := 0
				src := readerFunc(func(p []byte) (int, error) {
					if at == len(data) {
						return 0, io.EOF
					}
					p[0] = data[at]
					at++
					reads++
					return 1, nil
				})
				if err := c.call(readerOf(t, a, bufLen, src), n); err != nil {
					t.Fatalf("%s of %d bytes: %v", c.name, n, err)
				}
				return reads, blockBytes(a)
			}
			n := rounds(c.n)
			reads, blocks := cost(n)
			reads2, blocks2 := cost(2 * n)
			if reads > n+1 || reads2 > 2*n+1 {
				t.Errorf("%s, BufLen %d: %d and %d reads for %d and %d bytes", c.name, bufLen, reads, reads2, n, 2*n)
			}
			// Each byte may be moved a few times while the block grows.
			if blocks > int64(8*n+128<<10) || blocks2 > int64(16*n+128<<10) {
				t.Errorf("%s, BufLen %d: %d and %d bytes of blocks for %d and %d bytes", c.name, bufLen, blocks, blocks2, n, 2*n)
			}
		}
	}
}

// TestPiecesFedOneByOneCostInProportion: what is looked at after each piece is not moved
// for each, however long it gets.
func TestPiecesFedOneByOneCostInProportion(t *testing.T) {
	const n, piece = 12 << 20, 64 << 10
	for name, call := range map[string]func(r *sluice.BufReader) error{
		"Peek":      func(r *sluice.BufReader) error { _, err := r.Peek(n); return err },
		"ReadSlice": func(r *sluice.BufReader) error { _, err := r.ReadSlice('\n'); return err },
	} {
		a := paranoid(t)
		r := sluice.NewBufReaderFed(sluice.Options{Allocator: a})
		for range n/piece - 1 {
			if err := r.Feed(make([]byte, piece)); err != nil {
				t.Fatal(err)
			}
			if err := call(r); !errors.Is(err, sluice.ErrShort) {
				t.Fatal(err)
			}
		}
		// One for each doubling, from the first two pieces on.
		if took := a.Stats().Misses; took > 10 {
			t.Errorf("%s: what was there was moved to %d blocks", name, took)
		}
		r.Recycle()
	}
}

func TestEndlessLineCostsItsLimit(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(r *sluice.BufReader) error
	}{
		{"ReadLine", func(r *sluice.BufReader) error { _, err := r.ReadLine(); return err }},
		{"ReadLineSlice", func(r *sluice.BufReader) error { _, err := r.ReadLineSlice(); return err }},
		{"ReadMIMEHeader", func(r *sluice.BufReader) error { _, err := r.ReadMIMEHeader(); return err }},
	} {
		for _, piece := range []int{100, 4096, 1 << 30} {
			a := mem.New(mem.Options{})
			left := 16 << 20
			src := &watch{a: a, Reader: readerFunc(func(p []byte) (int, error) {
				n := min(len(p), left, piece)
				left -= n
				for i := range n {
					p[i] = 'x'
				}
				if n == 0 {
					return 0, io.EOF
				}
				return n, nil
			})}
			r := readerOf(t, a, 0, src)
			heap := allocated(func() {
				if err := c.call(r); !errors.Is(err, sluice.ErrTooLong) {
					t.Errorf("%s: %v", c.name, err)
				}
			})
			src.look()
			if src.most > 64<<10 {
				t.Errorf("%s, %d bytes a read: %d bytes were checked out", c.name, piece, src.most)
			}
			if got := blockBytes(a); got > 160<<10 {
				t.Errorf("%s, %d bytes a read: %d bytes of blocks were taken", c.name, piece, got)
			}
			// Reading the memory figures before each read costs about a KiB each time.
			if !sys.Race && heap > 1<<20 {
				t.Errorf("%s, %d bytes a read: %d bytes were allocated", c.name, piece, heap)
			}
			if src.came > 64<<10 {
				t.Errorf("%s, %d bytes a read: %d bytes were read", c.name, piece, src.came)
			}
		}
	}
}

// lengthCalls are the calls that take a length from a peer's message.
var lengthCalls = []struct {
	name string
	call func(r *sluice.BufReader, n int) error
}{
	{"Next", func(r *sluice.BufReader, n int) error { _, err := r.Next(n); return err }},
	{"Peek", func(r *sluice.BufReader, n int) error { _, err := r.Peek(n); return err }},
	{"ReadBuf", func(r *sluice.BufReader, n int) error { _, err := r.ReadBuf(n); return err }},
	{"ReadBytes", func(r *sluice.BufReader, n int) error { _, err := r.ReadBytes(n); return err }},
}

var claimArrivals = []int{0, 1, 100, 5000, 40_000, 64 << 10, 100_000, 1 << 20, 2<<20 + 1000, 5 << 20}

func TestClaimOfAGigabyteCostsWhatHasArrived(t *testing.T) {
	for _, c := range lengthCalls {
		for _, arrived := range claimArrivals {
			if sys.Race && arrived > 1<<20 {
				continue
			}
			for _, piece := range []int{1000, 30_000, 1 << 30} {
				a := mem.New(mem.Options{})
				what := fmt.Sprintf("%s, %d bytes in pieces of %d", c.name, arrived, piece)
				src := &watch{a: a, Reader: &pieces{data: testData(4 + arrived), next: every(piece)}}
				src.check = func(came, out int64) {
					if out > 2*came+64<<10 {
						t.Fatalf("%s: %d bytes are checked out when %d have come", what, out, came)
					}
				}
				r := readerOf(t, a, 0, src)
				r.SetLimits(sluice.Options{Frame: 1 << 30})
				heap := allocated(func() {
					if _, err := r.Next(4); err != nil {
						t.Fatal(err)
					}
					if err := c.call(r, 1<<30); err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Errorf("%s: %v", what, err)
					}
				})
				src.look()
				// All that was ever allocated, with what is free again.
				if most := uint64(4*arrived + 256<<10); !sys.Race && heap > most {
					t.Errorf("%s: %d bytes were allocated, at most %d", what, heap, most)
				}
				if r.Buffered() != arrived {
					t.Errorf("%s: %d bytes are buffered", what, r.Buffered())
				}
			}
		}
	}
}

func TestClaimOverSocketsCostsWhatHasArrived(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, c := range lengthCalls {
			for _, arrived := range []int{0, 1, 5000, 100_000, 1 << 20} {
				near, far := streamPair(t, network)
				a := mem.New(mem.Options{})
				r := readerOf(t, a, 0, near)
				r.SetLimits(sluice.Options{Frame: 1 << 30})
				goTest(t, func() { write(t, far, string(testData(arrived))) })
				if err := r.SetTimeout(time.Millisecond); err != nil {
					t.Fatal(err)
				}
				for first := true; first || r.Buffered() < arrived; first = false {
					if err := c.call(r, 1<<30); !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Fatal(err)
					}
					if out, came := a.Stats().OutBytes, r.TotalRead(); out > 2*came+64<<10 {
						t.Fatalf("%s, %s: %d bytes are checked out when %d have come", network, c.name, out, came)
					}
				}
			}
		}
	}
}

// endlessSource is a source without end that costs nothing itself.
var endlessSource = readerFunc(func(p []byte) (int, error) { return len(p), nil })

func TestSkipOfAGigabyteHoldsOneBlock(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(r *sluice.BufReader) error
	}{
		{"Skip", func(r *sluice.BufReader) error { return r.Skip(1 << 30) }},
		{"Discard", func(r *sluice.BufReader) error { _, err := r.Discard(1 << 30); return err }},
		{"ReadRange", func(r *sluice.BufReader) error { return r.ReadRange(1<<30, func([]byte) {}) }},
		{"ReadBE32 without end", func(r *sluice.BufReader) error {
			for range 2 << 20 {
				if _, err := r.ReadBE32(4); err != nil {
					return err
				}
			}
			return nil
		}},
		{"ReadByte without end", func(r *sluice.BufReader) error {
			for range 2 << 20 {
				if _, err := r.ReadByte(); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		a := mem.New(mem.Options{})
		src := &watch{a: a, Reader: endlessSource}
		r := readerOf(t, a, 0, src)
		if err := r.Skip(1 << 20); err != nil { // grown up by then
			t.Fatal(err)
		}
		before := blockBytes(a)
		heap := mallocs(func() {
			if err := c.call(r); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		})
		if src.most > sluice.MaxBlock {
			t.Errorf("%s: %d bytes were checked out", c.name, src.most)
		}
		if n := blockBytes(a) - before; n != 0 {
			t.Errorf("%s: %d bytes of blocks were taken", c.name, n)
		}
		// Stats, which the source calls, allocates its table.
		if extra := heap - 8*uint64(src.reads); !sys.Race && !invariant.Enabled && int64(extra) > 100 {
			t.Errorf("%s: %d allocations", c.name, heap)
		}
	}
}

// mallocs returns how many allocations f makes.
func mallocs(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
