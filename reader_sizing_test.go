package sluice_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// ledger is a source without end that notes how much each Read was asked for,
// and where in memory each byte of the stream was put.
type ledger struct {
	give  func(room int) int
	asked []int
	came  int
	// places has the stretches of the last reads, oldest first.
	places []place
}

type place struct {
	at, n int // of the stream
	addr  uintptr
}

func (l *ledger) Read(p []byte) (int, error) {
	n := min(l.give(len(p)), len(p))
	l.asked = append(l.asked, len(p))
	if len(l.places) > 4000 {
		l.places = slices.Delete(l.places, 0, 2000)
	}
	l.places = append(l.places, place{l.came, n, addrOf(p)})
	l.came += n
	return n, nil
}

func addrOf(p []byte) uintptr { return reflect.ValueOf(p).Pointer() }

// copied returns how many of the bytes that p has, which are those of the
// stream from at on, are not where they were received.
func (l *ledger) copied(p []byte, at int) int {
	n := len(p)
	for i := len(l.places) - 1; i >= 0; i-- {
		s := l.places[i]
		from, to := max(at, s.at), min(at+len(p), s.at+s.n)
		if from < to && s.addr+uintptr(from-s.at) == addrOf(p)+uintptr(from-at) {
			n -= to - from
		}
		if s.at <= at {
			break
		}
	}
	return n
}

func full(room int) int { return room }

// last returns what the latest n reads asked for.
func (l *ledger) last(n int) []int { return l.asked[max(0, len(l.asked)-n):] }

func TestBlockSizeFollowsTheStreamBothWays(t *testing.T) {
	trickle := func(int) int { return 10 }
	flood := func(t *testing.T, l *ledger, r *sluice.BufReader) {
		l.give = full
		if err := r.Skip(4 << 20); err != nil {
			t.Fatal(err)
		}
		if n := slices.Min(l.last(20)); n != sluice.MaxBlock {
			t.Errorf("a flood is read by %v", l.last(20))
		}
	}
	dribble := func(t *testing.T, l *ledger, r *sluice.BufReader) {
		l.give = trickle
		if err := r.Skip(r.Buffered()); err != nil {
			t.Fatal(err)
		}
		for range 300 {
			if _, err := r.Next(10); err != nil {
				t.Fatal(err)
			}
		}
		if n := slices.Max(l.last(20)); n > 1024 {
			t.Errorf("a trickle is read by %v", l.last(20))
		}
	}
	l := &ledger{}
	a := paranoid(t)
	r := readerOf(t, a, 0, l)
	dribble(t, l, r)
	flood(t, l, r)
	dribble(t, l, r)
	if out := a.Stats().OutBytes; out > 1024 {
		t.Errorf("%d bytes are checked out after the flood", out)
	}
	flood(t, l, r)
}

func TestFirstReadIsSmall(t *testing.T) {
	l := &ledger{give: full}
	r := readerOf(t, paranoid(t), 0, l)
	if _, err := r.ReadByte(); err != nil {
		t.Fatal(err)
	}
	if l.asked[0] > 4096 {
		t.Errorf("a connection that may say nothing is first read by %d bytes", l.asked[0])
	}
}

func TestBufLenPinsTheReads(t *testing.T) {
	for _, c := range []struct{ bufLen, want int }{{1, 16}, {15, 16}, {16, 16}, {17, 17}, {100, 100}, {4096, 4096}, {100_000, 100_000}} {
		for _, give := range []func(int) int{full, func(int) int { return 1 }, func(room int) int { return (room + 1) / 2 }} {
			l := &ledger{give: give}
			r := readerOf(t, paranoid(t), c.bufLen, l)
			for range 500 {
				// Where one byte is there and the next must come, both are in
				// one block, and the read goes to its end.
				if err := r.Skip(r.Buffered()); err != nil {
					t.Fatal(err)
				}
				if _, err := r.ReadByte(); err != nil {
					t.Fatal(err)
				}
			}
			for _, n := range l.asked {
				if n != c.want {
					t.Fatalf("BufLen %d: a read of %d bytes", c.bufLen, n)
				}
			}
			// A longer frame comes whole, and then it is as before.
			n := 3*c.want + 1
			if p, err := r.Next(n); len(p) != n || err != nil {
				t.Fatalf("BufLen %d: a longer frame: %d bytes, %v", c.bufLen, len(p), err)
			}
			if err := r.Skip(r.Buffered()); err != nil {
				t.Fatal(err)
			}
			l.asked = nil
			for range 20 {
				if err := r.Skip(r.Buffered() + 1); err != nil {
					t.Fatal(err)
				}
			}
			for _, n := range l.asked[1:] {
				if n != c.want {
					t.Fatalf("BufLen %d: after a longer frame a read of %d bytes", c.bufLen, n)
				}
			}
		}
	}
}

func TestNewBufReaderWithBufLenTakesSixteenAtLeast(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 15} {
		l := &ledger{give: full}
		r := sluice.NewBufReaderWithBufLen(l, n)
		if _, err := r.ReadByte(); err != nil || l.asked[0] != 16 {
			t.Errorf("bufLen %d: a read of %d bytes, %v", n, l.asked[0], err)
		}
		r.Recycle()
	}
}

// TestFewBytesAreCopied reads frames of up to a quarter of the block and
// compares the place of each byte of a frame with the place it was received
// at: only the head of a frame that a block's end has cut may have moved.
func TestFewBytesAreCopied(t *testing.T) {
	seed := sluicetest.Seed(t)
	const quarter = sluice.MaxBlock / 4
	for _, c := range []struct {
		name string
		size func(*rand.Rand) int
	}{
		{"100", func(*rand.Rand) int { return 100 }},
		{"1 KiB", func(*rand.Rand) int { return 1 << 10 }},
		{"2,000", func(*rand.Rand) int { return 2000 }},
		{"4 KiB", func(*rand.Rand) int { return 4 << 10 }},
		{"5,000", func(*rand.Rand) int { return 5000 }},
		{"10,000", func(*rand.Rand) int { return 10_000 }},
		{"a quarter", func(*rand.Rand) int { return quarter }},
		{"to 1,000", func(r *rand.Rand) int { return 1 + r.IntN(1000) }},
		{"to a quarter", func(r *rand.Rand) int { return 1 + r.IntN(quarter) }},
	} {
		for _, way := range []string{"Next", "ReadBuf held", "Next of pieces"} {
			t.Run(c.name+"/"+way, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 1))
				l := &ledger{give: full}
				if way == "Next of pieces" {
					l.give = func(int) int { return 1 + rng.IntN(40_000) }
				}
				a := mem.New(mem.Options{})
				r := readerOf(t, a, 0, l)
				share := copiedShare(t, l, r, 24<<20, way == "ReadBuf held", func() int { return c.size(rng) })
				if share >= 0.02 {
					t.Errorf("%.2f %% of the bytes were copied", 100*share)
				}
			})
		}
	}
}

// copiedShare reads frames until total bytes have gone by, each with a header
// of 4 bytes before it, and returns which share of the bytes of frames was
// copied in the second half. It keeps the latest 30 Bufs if hold is set.
func copiedShare(t *testing.T, l *ledger, r *sluice.BufReader, total int, hold bool, size func() int) float64 {
	var moved, all int
	var kept [30]mem.Buf
	for i, at := 0, 0; at < total; i++ {
		if _, err := r.ReadBE32(4); err != nil {
			t.Fatal(err)
		}
		at += 4
		n := size()
		var p []byte
		if hold {
			b, err := r.ReadBuf(n)
			if err != nil {
				t.Fatal(err)
			}
			if k := i % len(kept); kept[k].Valid() {
				kept[k].Release()
			}
			kept[i%len(kept)] = b
			p = b.Bytes()
		} else {
			var err error
			if p, err = r.Next(n); err != nil {
				t.Fatal(err)
			}
		}
		if at > total/2 {
			moved += l.copied(p, at)
			all += n
		}
		at += n
	}
	for i := range kept {
		if kept[i].Valid() {
			kept[i].Release()
		}
	}
	return float64(moved) / float64(all)
}

func TestLongFramesStopBeingCopied(t *testing.T) {
	for _, n := range []int{70_000, 100_000, 256 << 10, 1 << 20} {
		for _, hold := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, held %v", n, hold), func(t *testing.T) {
				l := &ledger{give: full}
				r := readerOf(t, mem.New(mem.Options{}), 0, l)
				share := copiedShare(t, l, r, 100*n, hold, func() int { return n })
				if share >= 0.02 {
					t.Errorf("%.2f %% of the bytes were copied", 100*share)
				}
			})
		}
	}
}

func TestReadBytesLeavesBytesWhereTheyCame(t *testing.T) {
	for _, n := range []int{70_000, 300_000, 1 << 20} {
		l := &ledger{give: full}
		r := readerOf(t, paranoid(t), 0, l)
		var moved, all int
		for i := range 40 {
			if _, err := r.ReadBE32(4); err != nil {
				t.Fatal(err)
			}
			at := int(r.TotalRead()) - r.Buffered()
			m, err := r.ReadBytes(n)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range m.Buffers {
				if i > 10 {
					moved += l.copied(p, at)
					all += len(p)
				}
				at += len(p)
			}
			m.Release()
		}
		if share := float64(moved) / float64(all); share >= 0.02 {
			t.Errorf("%d bytes at once: %.2f %% were copied", n, 100*share)
		}
	}
}
