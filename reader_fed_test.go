package sluice_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// fedReader returns a reader to feed, on a.
func fedReader(t testing.TB, a *mem.Allocator) *sluice.BufReader {
	r := sluice.NewBufReaderFed(sluice.Options{Allocator: a})
	t.Cleanup(r.Recycle)
	return r
}

func TestFedReaderIsShortUntilItIsFed(t *testing.T) {
	for _, c := range wanting {
		for turn := range 3 {
			a := paranoid(t)
			r := fedReader(t, a)
			if err := c.call(r, c.n); !errors.Is(err, sluice.ErrShort) {
				t.Errorf("%s(%d) of nothing: %v", c.name, c.n, err)
			}
			if err := feed(r, a, turn, []byte("x:y")); err != nil {
				t.Fatal(err)
			}
			err := c.call(r, c.n)
			if !errors.Is(err, sluice.ErrShort) {
				t.Errorf("%s(%d) of 3 bytes: %v", c.name, c.n, err)
			}
			want := 3
			switch c.name {
			case "ReadRange", "Skip", "Discard":
				want = 0
			}
			if n := r.Buffered(); n != want {
				t.Errorf("%s(%d): %d bytes are left", c.name, c.n, n)
			}
		}
	}
}

func TestFeedEnd(t *testing.T) {
	for _, c := range []struct{ end, want error }{{nil, io.EOF}, {io.EOF, io.EOF}, {errSource, errSource}} {
		a := paranoid(t)
		r := fedReader(t, a)
		if err := r.FeedCopy([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		r.FeedEnd(c.end)
		if p, err := r.Next(3); string(p) != "abc" || err != nil {
			t.Errorf("what was fed: %q, %v", p, err)
		}
		for range 2 {
			if _, err := r.ReadByte(); err != c.want {
				t.Errorf("then %v, want %v", err, c.want)
			}
		}
	}
}

func TestFedSlicesAreViewedWhereTheyAre(t *testing.T) {
	a := paranoid(t)
	r := fedReader(t, a)
	first := []byte("a slice")
	if err := r.Feed(first); err != nil {
		t.Fatal(err)
	}
	second := a.Get(1000) // shorter ones are copied together
	at := &second.Bytes()[0]
	if err := r.FeedBuf(second); err != nil {
		t.Fatal(err)
	}
	if p, err := r.Next(7); err != nil || &p[0] != &first[0] {
		t.Errorf("a slice was copied: %q, %v", p, err)
	}
	b, err := r.ReadBuf(1000)
	if err != nil || &b.Bytes()[0] != at {
		t.Errorf("a Buf was copied: %v", err)
	}
	b.Release()
}

func TestFeedCopyBorrows(t *testing.T) {
	a := paranoid(t)
	r := fedReader(t, a)
	p := []byte("abc")
	for i := range 5 {
		copy(p, bytes.Repeat([]byte{byte('a' + i)}, 3))
		if err := r.FeedCopy(p); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := r.Next(15); string(p) != "aaabbbcccdddeee" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
	if n := a.Stats().CheckedOut; n != 1 {
		t.Errorf("five small pieces took %d blocks", n)
	}
}

func TestFedBytesHaveABound(t *testing.T) {
	const limit = 1000
	for turn := range 3 {
		a := paranoid(t)
		r := fedReader(t, a)
		r.SetLimits(sluice.Options{Frame: limit})
		fed := 0
		for {
			err := feed(r, a, turn, make([]byte, 100))
			if err == nil {
				if fed += 100; fed > limit+100 {
					t.Fatalf("%d bytes were taken", fed)
				}
				continue
			}
			var e *sluice.Error
			if !errors.Is(err, sluice.ErrTooLong) || !errors.As(err, &e) || sluice.LimitOf(e) != limit || sluice.GotOf(e) != int64(fed+100) {
				t.Fatal(err)
			}
			break
		}
		if fed != limit+100 || r.Buffered() != fed { // the last piece, beside what may wait
			t.Errorf("%d bytes were taken, %d are there", fed, r.Buffered())
		}
		// When some are read, as many can be fed.
		if err := r.Skip(100); err != nil {
			t.Fatal(err)
		}
		if err := feed(r, a, turn, make([]byte, 100)); err != nil {
			t.Error(err)
		}
	}
}

// TestFedFramesMayBeCutAnyhow: frames up to the limit come whole, however long the pieces are
// that they and their neighbours are fed in.
func TestFedFramesMayBeCutAnyhow(t *testing.T) {
	const limit = 1000
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for prefix := range 5 {
		var stream bytes.Buffer
		var sizes []int
		w := sluice.NewBufWriter(&stream)
		for range 40 {
			n := limit - rng.IntN(4)
			if prefix == 1 || rng.IntN(2) == 0 {
				n = rng.IntN(256)
			}
			sizes = append(sizes, n)
			if err := w.WriteFrame(prefix, binary.BigEndian, mem.Wrap(make([]byte, n), nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		for turn := range 3 {
			for _, piece := range []int{1, 7, limit - 1, limit, limit + 4, 5 * limit} {
				a := paranoid(t)
				r := fedReader(t, a)
				r.SetLimits(sluice.Options{Frame: limit})
				next := 0
				for p := range slices.Chunk(stream.Bytes(), piece) {
					if err := feed(r, a, turn, bytes.Clone(p)); err != nil {
						t.Fatalf("prefix %d, way %d, pieces of %d, frame %d: %v", prefix, turn, piece, next, err)
					}
					for {
						frame, err := r.ReadFrame(prefix, binary.BigEndian, 0)
						if errors.Is(err, sluice.ErrShort) {
							break
						}
						if err != nil || frame.Len() != sizes[next] {
							t.Fatalf("prefix %d, way %d, pieces of %d, frame %d: %v", prefix, turn, piece, next, err)
						}
						frame.Release()
						next++
					}
				}
				if next != len(sizes) {
					t.Errorf("prefix %d, way %d, pieces of %d: %d frames of %d", prefix, turn, piece, next, len(sizes))
				}
			}
		}
	}
}

// TestFedReaderWithNothingTakesAPieceOfAnyLength: what an event loop has received at once may
// be many frames.
func TestFedReaderWithNothingTakesAPieceOfAnyLength(t *testing.T) {
	for turn := range 3 {
		a := paranoid(t)
		r := fedReader(t, a)
		r.SetLimits(sluice.Options{Frame: 100})
		for range 2 {
			if err := feed(r, a, turn, make([]byte, 250)); err != nil {
				t.Fatal(err)
			}
			if err := feed(r, a, turn, []byte("x")); !errors.Is(err, sluice.ErrTooLong) {
				t.Errorf("way %d, behind it: %v", turn, err)
			}
			for left := 250; left > 0; left -= 50 {
				if _, err := r.Next(50); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestFeedOfWhatIsNotFedPanics(t *testing.T) {
	for name, call := range map[string]func(r *sluice.BufReader){
		"Feed":     func(r *sluice.BufReader) { _ = r.Feed([]byte("x")) },
		"FeedBuf":  func(r *sluice.BufReader) { _ = r.FeedBuf(mem.Wrap([]byte("x"), nil)) },
		"FeedCopy": func(r *sluice.BufReader) { _ = r.FeedCopy([]byte("x")) },
		"FeedEnd":  func(r *sluice.BufReader) { r.FeedEnd(nil) },
	} {
		if text := panicOf(func() { call(readerOf(t, mem.Default(), 0, strings.NewReader("x"))) }); !strings.HasPrefix(text, "sluice: ") {
			t.Errorf("%s: panic %q", name, text)
		}
		ch := sluice.NewBufReaderChan(1)
		if text := panicOf(func() { call(ch) }); name != "Feed" && !strings.HasPrefix(text, "sluice: ") {
			t.Errorf("%s of a channel's reader: panic %q", name, text)
		}
	}
}

func TestFedReaderAfterRecycle(t *testing.T) {
	for turn := range 3 {
		a := paranoid(t)
		r := fedReader(t, a)
		if err := feed(r, a, turn, []byte("abc")); err != nil {
			t.Fatal(err)
		}
		r.Recycle()
		// A Buf that is refused is released all the same: paranoid looks.
		if err := feed(r, a, turn, []byte("abc")); err != sluice.ErrClosed {
			t.Errorf("way %d: %v", turn, err)
		}
	}
}

func TestFeedCopyIsAllOrNothing(t *testing.T) {
	a := watched(t, 8<<10)
	r := fedReader(t, a)
	if err := r.FeedCopy([]byte("before ")); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{20_000, 10_000} {
		if err := r.FeedCopy(make([]byte, n)); !errors.Is(err, mem.ErrBudget) {
			t.Fatalf("%d bytes on a budget of 8 KiB: %v", n, err)
		}
		if r.Buffered() != 7 || r.TotalRead() != 7 {
			t.Fatalf("%d bytes are there, %d were read", r.Buffered(), r.TotalRead())
		}
	}
	if err := r.FeedCopy([]byte("after")); err != nil {
		t.Fatal(err)
	}
	if p, err := r.Next(12); string(p) != "before after" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
}

// TestFeedCopyThatFailsBehindOtherBytesAddsNone: what was added lies in several
// blocks by then.
func TestFeedCopyThatFailsBehindOtherBytesAddsNone(t *testing.T) {
	a := watched(t, 136<<10)
	r := fedReader(t, a)
	data := testData(3000)
	for at := range 2 { // too long to be copied together
		if err := r.Feed(bytes.Clone(data[at*1000 : (at+1)*1000])); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{0, 100} {
		if err := r.FeedCopy(data[2000 : 2000+n]); err != nil {
			t.Fatal(err)
		}
		if err := r.FeedCopy(make([]byte, 300<<10)); !errors.Is(err, mem.ErrBudget) {
			t.Fatalf("300 KiB on a budget of 136: %v", err)
		}
		if r.Buffered() != 2000+n || r.TotalRead() != int64(2000+n) {
			t.Fatalf("%d bytes are there, %d were read", r.Buffered(), r.TotalRead())
		}
		if out := a.Stats().OutBytes; out > 4<<10 {
			t.Errorf("%d bytes are checked out for %d", out, n)
		}
	}
	if err := r.FeedBuf(mem.Wrap(bytes.Clone(data[2100:]), nil)); err != nil {
		t.Fatal(err)
	}
	if p, err := r.Next(3000); !bytes.Equal(p, data) || err != nil {
		t.Errorf("%d bytes, %v", len(p), err)
	}
}

// TestFedBacklogThatNeverEmptiesStaysSmall: two pieces always wait.
func TestFedBacklogThatNeverEmptiesStaysSmall(t *testing.T) {
	for _, piece := range []int{1, 100, 1000, 5000} {
		for turn := range 3 {
			a := mem.New(mem.Options{})
			r := fedReader(t, a)
			data := testData(piece)
			want := bytes.Clone(data)
			for range 2 {
				if err := feed(r, a, turn, data); err != nil {
					t.Fatal(err)
				}
			}
			var most int64
			cycle := func() {
				if err := feed(r, a, turn, data); err != nil {
					t.Fatal(err)
				}
				if p, err := r.Next(piece); err != nil || !bytes.Equal(p, want) {
					t.Fatalf("%d bytes, way %d: other bytes, %v", piece, turn, err)
				}
			}
			cycles := 20_000
			if sys.Race || invariant.Enabled {
				cycles = 500
			}
			for range cycles {
				cycle()
				if s := a.Stats(); s.OutBytes > most {
					most = s.OutBytes
				}
			}
			if limit := int64(4*3*piece + 16<<10); most > limit {
				t.Errorf("pieces of %d, way %d: %d bytes were checked out, at most %d", piece, turn, most, limit)
			}
			if turn != 1 || cycles < 20_000 {
				continue // the others bring memory of their own
			}
			if heap := allocated(func() {
				for range 20_000 {
					cycle()
				}
			}); heap > 2<<20 {
				t.Errorf("pieces of %d: 20,000 more allocated %d bytes", piece, heap)
			}
		}
	}
}

// TestSingleBytesFedCostLittle counts the whole heap: the bytes, and what says
// where they are.
func TestSingleBytesFedCostLittle(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("checks allocate")
	}
	const n = 1 << 20
	for turn := range 3 {
		a := mem.New(mem.Options{})
		r := fedReader(t, a)
		single := testData(n)
		before := liveHeap()
		for i := range single {
			var err error
			if turn == 0 {
				err = r.Feed(single[i : i+1 : i+1])
			} else {
				err = feed(r, a, turn, single[i:i+1])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if cost := int64(liveHeap()) - int64(before); cost > 4*n {
			t.Errorf("way %d: 1 MB fed as single bytes costs %d bytes", turn, cost)
		}
		if p, err := r.Next(n); err != nil || !bytes.Equal(p, single) {
			t.Errorf("way %d: other bytes, %v", turn, err)
		}
	}
}

// TestFedSlicesThatWereReadAreCollected though others still wait behind them.
func TestFedSlicesThatWereReadAreCollected(t *testing.T) {
	const n, size = 20, 64 << 10
	r := fedReader(t, mem.New(mem.Options{}))
	var gone atomic.Int32
	for range n {
		p := make([]byte, size)
		runtime.AddCleanup(&p[0], func(int) { gone.Add(1) }, 0)
		if err := r.Feed(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Skip((n - 1) * size); err != nil {
		t.Fatal(err)
	}
	// The latest one that was read may be the window's still.
	eventually(t, "slices that were read are collected", func() bool { runtime.GC(); return gone.Load() >= n-2 })
	if err := r.Skip(size); err != nil {
		t.Fatal(err)
	}
}

// liveHeap returns the bytes on the heap that are in use.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestFeedCopyByteByByteTakesLittle(t *testing.T) {
	a := mem.New(mem.Options{})
	r := fedReader(t, a)
	// Bytes wait behind a slice, so each piece could come to a block of its own.
	if err := r.Feed([]byte("first")); err != nil {
		t.Fatal(err)
	}
	const n = 50_000
	for i := range n {
		if err := r.FeedCopy([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if out := a.Stats().OutBytes; out > 2*n+sluice.MaxBlock {
		t.Errorf("%d bytes are checked out for %d", out, n)
	}
	if _, err := r.Next(5); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		mustReadByte(t, r, byte(i))
	}
}

func TestAFedReaderHoldsTheSmallestBlockForPartOfAMessage(t *testing.T) {
	for _, n := range []int{1, 20, 200, 1400} {
		a := mem.New(mem.Options{Name: t.Name()})
		r := fedReader(t, a)
		for range 3 { // it learns from the messages before
			for part := range 2 {
				if err := r.FeedCopy(make([]byte, n)); err != nil {
					t.Fatal(err)
				}
				if _, err := r.Next(2 * n); part == 1 {
					break
				} else if !errors.Is(err, sluice.ErrShort) {
					t.Fatal(err)
				}
				if held, least := a.Stats().OutBytes, int64(a.Cap(n)); held > max(2*least, 256) {
					t.Errorf("%d bytes of a message are held in %d", n, held)
				}
			}
		}
	}
}

func TestFramesKeptFromAFedReaderShareBlocks(t *testing.T) {
	const frames, length = 400, 500
	a := mem.New(mem.Options{Name: t.Name()})
	r := fedReader(t, a)
	kept := make([]mem.Buf, frames)
	for i := range kept {
		if err := r.FeedCopy(make([]byte, length)); err != nil {
			t.Fatal(err)
		}
		var err error
		if kept[i], err = r.ReadBuf(length); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Peek(1); !errors.Is(err, sluice.ErrShort) {
			t.Fatal(err)
		}
	}
	if held := a.Stats().OutBytes; held > frames*length*3/2 {
		t.Errorf("%d frames of %d bytes hold %d", frames, length, held)
	}
	for i := range kept {
		kept[i].Release()
	}
}

func TestPeekOfWhatIsBufferedSucceeds(t *testing.T) {
	for _, mark := range []bool{false, true} {
		r := sluice.NewBufReaderFed(sluice.Options{Allocator: paranoid(t), Frame: 1000})
		defer r.Recycle()
		for _, c := range []byte("ab") {
			if err := r.Feed(allOf(c, 900)); err != nil {
				t.Fatal(err)
			}
		}
		want := string(allOf('a', 900)) + string(allOf('b', 900))
		if mark {
			r.Mark()
			if err := r.Skip(100); err != nil {
				t.Fatal(err)
			}
			want = want[100:]
		}
		if p, err := r.Peek(r.Buffered()); string(p) != want || err != nil {
			t.Errorf("mark %v: %d bytes of %d, %v", mark, len(p), len(want), err)
		}
		if _, err := r.Peek(r.Buffered() + 1); !errors.Is(err, sluice.ErrTooLong) {
			t.Errorf("mark %v, a byte more: %v", mark, err)
		}
	}
}

// A Mark bounds what a call has to receive, and not what has come already.
func TestAMarkDoesNotBoundWhatHasCome(t *testing.T) {
	r := sluice.NewBufReaderFed(sluice.Options{Allocator: paranoid(t), Frame: 1000})
	defer r.Recycle()
	for range 2 {
		if err := r.Feed(allOf('a', 900)); err != nil {
			t.Fatal(err)
		}
	}
	r.Mark()
	for range 3 {
		if p, err := r.Next(600); len(p) != 600 || err != nil {
			t.Fatalf("%d bytes, %v", len(p), err)
		}
	}
	if _, err := r.Next(1); !errors.Is(err, sluice.ErrTooLong) {
		t.Errorf("a byte that has to come: %v", err)
	}
	r.Rollback()
	if n := r.Buffered(); n != 1800 {
		t.Errorf("%d bytes after Rollback", n)
	}
}
