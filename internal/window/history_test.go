package window_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/window"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A history is random operations on a window beside a plain []byte.
type history struct {
	t   *testing.T
	rng *rand.Rand
	a   *mem.Allocator
	w   *window.Window

	all   []byte // everything received since the window was made empty
	pos   int    // consumed of it
	mark  int    // -1 without one
	fixed int    // place at which Unread is refused, -1 when nowhere
	// unknown says that the byte before pos went away unseen.
	unknown bool
	filled  int // bytes filled since anything else was done
	seq     byte

	kept []kept
	log  []string
}

// kept is what was cut out, and the bytes that it must have for ever.
type kept struct {
	buf  mem.Buf
	list *mem.Memory
	want []byte
}

func (h *history) note(format string, args ...any) {
	if len(h.log) == 30 {
		h.log = h.log[1:]
	}
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *history) fatalf(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("at %d of %d, mark %d: %s\nafter %s", h.pos, len(h.all), h.mark, fmt.Sprintf(format, args...), strings.Join(h.log, "; "))
}

// fresh fills p with bytes that are received now.
func (h *history) fresh(p []byte) {
	for i := range p {
		h.seq = h.seq*5 + 17
		p[i] = h.seq ^ byte(len(h.all)>>8)
		h.all = append(h.all, p[i])
	}
}

// size draws a length: mostly small, sometimes of blocks.
func (h *history) size() int {
	switch h.rng.IntN(10) {
	case 0:
		return h.rng.IntN(20_000)
	case 1, 2, 3:
		return h.rng.IntN(600)
	}
	return h.rng.IntN(16)
}

func (h *history) consumed(n int) {
	h.pos += n
	if n > 0 {
		h.unknown = false
	}
}

// front draws up to how many bytes of the front a call asks for: often all, behind which the next piece begins.
func (h *history) front() int {
	n := len(h.w.View())
	if h.rng.IntN(4) > 0 {
		n = h.rng.IntN(n + 1)
	}
	return n
}

// base is the place of the first byte that must stay.
func (h *history) base() int {
	if h.mark >= 0 {
		return h.mark
	}
	return h.pos
}

var ops = []struct {
	name  string
	often int
	run   func(h *history)
}{
	{"AddBytes", 6, func(h *history) {
		p := make([]byte, h.size())
		h.fresh(p)
		h.note("AddBytes of %d", len(p))
		h.w.AddBytes(p)
	}},
	{"AddBuf", 6, func(h *history) {
		n := h.size()
		b := h.a.Get(n)
		h.fresh(b.Bytes())
		h.note("AddBuf of %d", n)
		h.w.AddBuf(b)
	}},
	{"AddBuf of a shared one", 6, func(h *history) {
		n := h.size()
		b := h.a.Get(n)
		h.fresh(b.Bytes())
		if h.rng.IntN(2) == 0 {
			h.kept = append(h.kept, kept{buf: b.Retain(), want: bytes.Clone(b.Bytes())})
		}
		part := b.RetainedSlice(0, n)
		b.Release()
		h.note("AddBuf of %d that are shared", n)
		h.w.AddBuf(part)
	}},
	{"AddBlock", 6, func(h *history) {
		if h.w.LastIsEmpty() {
			return // the current block must be filled first
		}
		s := h.a.Slab(1 + h.size())
		length := 1 + h.rng.IntN(len(s.Bytes()))
		h.note("AddBlock of %d", length)
		if h.w.AddBlock(s, length); h.w.Capacity() < length {
			h.fatalf("Capacity is %d", h.w.Capacity())
		}
	}},
	{"Filled", 20, func(h *history) {
		room := h.w.Room()
		n := min(len(room), h.size())
		if n == 0 {
			return
		}
		h.fresh(room[:n])
		h.note("Filled %d of %d", n, len(room))
		h.w.Filled(n)
		h.filled += n
	}},
	{"Unfill", 3, func(h *history) {
		n := h.rng.IntN(h.filled + 1)
		h.note("Unfill %d", n)
		h.w.Unfill(n)
		h.all = h.all[:len(h.all)-n]
		h.filled = 0
	}},
	{"advance", 12, func(h *history) {
		n := h.front()
		h.note("advance %d", n)
		h.w.R += n
		h.consumed(n)
	}},
	{"Cut", 8, func(h *history) {
		n := h.front()
		if n == 0 {
			return
		}
		h.note("Cut %d", n)
		h.keep(kept{buf: h.w.Cut(n), want: h.all[h.pos : h.pos+n]})
		h.consumed(n)
	}},
	{"CutFor", 4, func(h *history) {
		n := h.front()
		if n == 0 {
			return
		}
		dst := make([]mem.Buf, h.rng.IntN(40))
		h.note("CutFor %d of %d", len(dst), n)
		h.w.CutFor(dst, n)
		for i := range dst {
			h.keep(kept{buf: dst[i], want: h.all[h.pos : h.pos+n]}) //sluice:moved
		}
		h.consumed(n)
	}},
	{"Take", 4, func(h *history) {
		if h.mark >= 0 {
			return
		}
		n := h.rng.IntN(h.w.Len() + 1)
		h.note("Take %d", n)
		m := mem.NewMemory()
		h.w.Take(m, n)
		h.keep(kept{list: m, want: h.all[h.pos : h.pos+n]})
		h.consumed(n)
	}},
	{"head", 8, (*history).head},
	{"Slide", 4, func(h *history) {
		if _, own := h.w.Block(); own && !h.w.Shared() {
			h.note("Slide")
			h.w.Slide()
		}
	}},
	{"Move", 4, func(h *history) {
		at := h.rng.IntN(3)
		s := h.a.Slab(h.w.Kept() + at + h.size() + 1)
		least := h.w.Kept() + at
		length := least + h.rng.IntN(len(s.Bytes())-least+1)
		h.note("Move to %d of %d", at, length)
		h.w.Move(s, at, length)
	}},
	{"Stash", 5, func(h *history) {
		room := h.rng.IntN(2000)
		h.note("Stash, room %d", room)
		h.w.Stash(h.a.Slab(max(1, h.w.Kept())), room)
	}},
	{"Park", 5, func(h *history) {
		if h.w.Kept() == 0 {
			room := h.rng.IntN(2000)
			h.note("Park, room %d", room)
			h.w.Park(room)
		}
	}},
	{"Unpark", 5, func(h *history) {
		need := h.w.Kept() + h.rng.IntN(1000)
		ok := h.w.Unpark(need)
		h.note("Unpark %d: %v", need, ok)
		if length, own := h.w.Block(); ok && (!own || length-(h.w.W-h.w.Kept()) < need) {
			h.fatalf("a block of %d bytes, which may be filled: %v", length, own)
		}
	}},
	{"Vacate", 3, func(h *history) {
		if h.w.Kept() == 0 {
			h.note("Vacate")
			h.w.Vacate()
		}
	}},
	{"Show", 4, func(h *history) { h.note("Show"); h.w.Show() }},
	{"Join", 6, func(h *history) {
		if h.w.Queued() == 0 {
			return
		}
		n := len(h.w.View()) + 1 + h.rng.IntN(h.w.Queued())
		need := h.w.Before() + n
		if length, own := h.w.Block(); !own || h.w.W-h.w.Kept()+need > length {
			s := h.a.Slab(need + h.rng.IntN(1000))
			h.w.Move(s, 0, len(s.Bytes()))
		}
		h.note("Join %d", n)
		h.w.Join(n)
		if got := len(h.w.View()); got < n {
			h.fatalf("Join(%d) made %d bytes contiguous", n, got)
		}
	}},
	{"Spare", 2, func(h *history) { h.note("Spare"); h.w.Spare() }},
	{"Mark", 4, func(h *history) {
		h.note("Mark")
		h.w.Mark()
		h.mark, h.fixed = h.pos, h.pos
	}},
	{"Back", 4, func(h *history) {
		if h.mark >= 0 {
			n := h.rng.IntN(h.pos - h.mark + 1)
			h.note("Back to %d", n)
			h.w.Back(n)
			h.pos = h.mark + n
			h.fixed = h.pos
		}
	}},
	{"Unmark", 4, func(h *history) { h.note("Unmark"); h.w.Unmark(); h.mark = -1 }},
	{"Fix", 1, func(h *history) { h.w.Fix(); h.fixed = h.pos }},
	{"Unread", 8, (*history).unread},
	{"Drop", 1, func(h *history) {
		if h.rng.IntN(10) == 0 {
			h.note("Drop")
			h.w.Drop()
			h.pos, h.mark = len(h.all), -1
			h.fixed, h.unknown = h.pos, true
		}
	}},
	{"Init", 1, func(h *history) {
		if h.rng.IntN(10) == 0 {
			h.note("Init")
			h.w.Init()
			h.all, h.pos, h.mark, h.fixed, h.unknown = nil, 0, -1, 0, false
		}
	}},
	{"release", 12, func(h *history) {
		if len(h.kept) > 0 {
			h.release(h.rng.IntN(len(h.kept)))
		}
	}},
}

// head takes a few bytes and puts them back, when the front has gone elsewhere maybe.
func (h *history) head() {
	var head window.Head
	n := min(h.front(), h.rng.IntN(11))
	if n == 0 {
		return
	}
	h.w.TakeHead(&head, n)
	h.note("TakeHead of %d", n)
	switch h.rng.IntN(5) {
	case 0:
		if _, own := h.w.Block(); own && !h.w.Shared() {
			h.w.Slide()
		}
	case 1:
		s := h.a.Slab(h.w.Kept() + h.size() + 1)
		h.w.Move(s, h.rng.IntN(min(5, len(s.Bytes())-h.w.Kept()+1)), len(s.Bytes()))
	case 2:
		h.w.Stash(h.a.Slab(max(1, h.w.Kept())), h.rng.IntN(2000))
	case 3:
		if h.w.Kept() == 0 {
			h.w.Park(h.rng.IntN(2000))
		}
	}
	if !h.w.PutBack(&head) {
		h.w.PrependHead(&head, h.a.Slab(h.w.Kept()+n))
		h.note("PrependHead")
	}
}

func (h *history) unread() {
	h.note("Unread")
	can := h.pos > 0 && h.pos != h.fixed && !h.unknown
	switch answer := h.w.Unread(); answer {
	case window.Refused:
		if can {
			h.fatalf("Unread is refused")
		}
		return
	case window.Gone:
		h.w.Prepend(h.a.Slab(h.w.Kept() + 1))
	}
	if !can {
		h.fatalf("Unread is granted")
	}
	h.pos--
	h.fixed = h.pos
}

func (h *history) keep(k kept) {
	k.want = bytes.Clone(k.want)
	h.kept = append(h.kept, k)
	for len(h.kept) > 60 {
		h.release(0)
	}
}

func (h *history) release(i int) {
	k := h.kept[i]
	h.kept[i] = h.kept[len(h.kept)-1]
	h.kept = h.kept[:len(h.kept)-1]
	var got []byte
	if k.list != nil {
		got = bytes.Clone(k.list.Bytes())
		k.list.Release()
	} else {
		got = bytes.Clone(k.buf.Bytes())
		k.buf.Release()
	}
	if !bytes.Equal(got, k.want) {
		h.fatalf("%d bytes that were handed out have changed", len(got))
	}
}

func (h *history) check() {
	h.t.Helper()
	w := h.w
	if got := w.Content(); !bytes.Equal(got, h.all[h.pos:]) {
		h.fatalf("the window has %d bytes, %.20x..., want %d, %.20x...", len(got), got, len(h.all)-h.pos, h.all[h.pos:])
	}
	if n := w.Len(); n != len(h.all)-h.pos {
		h.fatalf("Len is %d", n)
	}
	if n := w.Received(); n != int64(len(h.all)) {
		h.fatalf("Received is %d", n)
	}
	if w.Marked() != (h.mark >= 0) || w.Before() != h.pos-h.base() || w.Kept() != len(w.View())+h.pos-h.base() {
		h.fatalf("Marked %v, Before %d, Kept %d", w.Marked(), w.Before(), w.Kept())
	}
	if h.mark >= 0 && !bytes.Equal(w.Buf[w.W-w.Kept():w.R], h.all[h.mark:h.pos]) {
		h.fatalf("what the mark keeps has changed")
	}
	if v := w.View(); cap(v) != len(v) {
		h.fatalf("the view's capacity is %d of %d", cap(v), len(v))
	}
	if w.Idle() != (w.Len() == 0 && h.mark < 0) {
		h.fatalf("Idle is %v", w.Idle())
	}
	if n := w.EmptyPieces(); n > 0 {
		h.fatalf("%d pieces without bytes lie in the middle", n)
	}
	if length, own := w.Block(); own && w.Capacity() < length || w.Capacity() < 0 || int64(w.Capacity()) > h.a.Stats().OutBytes {
		h.fatalf("Capacity is %d", w.Capacity())
	}
}

var levels = []mem.Level{mem.LeakOff, mem.LeakSample, mem.LeakTrace, mem.LeakParanoid}

func TestRandomOperationsAgreeWithAByteSlice(t *testing.T) {
	seed := sluicetest.Seed(t)
	var deck []int
	for i, op := range ops {
		for range op.often {
			deck = append(deck, i)
		}
	}
	runs, steps := 6, 1000
	if testing.Short() {
		runs = 3
	}
	for _, level := range levels {
		for run := range runs {
			t.Run(fmt.Sprintf("%v/%d", level, run), func(t *testing.T) {
				a := mem.New(mem.Options{Name: t.Name(), Leak: level})
				h := &history{t: t, rng: rand.New(rand.NewPCG(seed, uint64(level)*1000+uint64(run))), a: a, w: new(window.Window), mark: -1}
				h.w.Init()
				for range steps {
					op := ops[deck[h.rng.IntN(len(deck))]]
					if op.run(h); op.name != "Filled" && op.name != "AddBlock" {
						h.filled = 0
					}
					h.check()
				}
				h.w.Drop()
				h.pos, h.mark = len(h.all), -1
				h.check()
				for len(h.kept) > 0 {
					h.release(0)
				}
				for _, l := range a.Leaks() {
					t.Errorf("%d bytes were not released; taken at\n%s", l.Size, l.Stack)
				}
				if n := a.Stats().OutBytes; n != 0 {
					t.Errorf("%d bytes are checked out", n)
				}
				a.Trim()
			})
		}
	}
}

// TestQueueThatNeverEmptiesStaysSmall: there are always some pieces more.
func TestQueueThatNeverEmptiesStaysSmall(t *testing.T) {
	for _, backlog := range []int{1, 2, 40} {
		for _, way := range []string{"AddBytes", "AddBuf", "AddBlock"} {
			a := mem.New(mem.Options{Leak: mem.LeakTrace})
			var w window.Window
			w.Init()
			for i := range 5_000 {
				switch way {
				case "AddBytes":
					w.AddBytes([]byte{byte(i)})
				case "AddBuf":
					b := a.Get(1)
					b.Bytes()[0] = byte(i)
					w.AddBuf(b)
				default:
					w.AddBlock(a.Slab(1), 1)
					w.Room()[0] = byte(i)
					w.Filled(1)
				}
				if i < backlog {
					continue
				}
				w.Show()
				if p := w.View(); len(p) != 1 || p[0] != byte(i-backlog) {
					t.Fatalf("%s: %x at %d", way, p, i)
				}
				w.R++
			}
			if n := w.Records(); n > 4*max(32, backlog) {
				t.Errorf("%s: memory for %d pieces, %d wait", way, n, backlog)
			}
			if n := a.Stats().CheckedOut; n > backlog+1 {
				t.Errorf("%s: %d blocks are out, %d pieces wait", way, n, backlog)
			}
			w.Drop()
			if n := a.Stats().CheckedOut; n != 0 {
				t.Errorf("%s: %d blocks are out", way, n)
			}
		}
	}
}
