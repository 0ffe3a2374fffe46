package sluice_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// dice make the choices of a history: by chance, or from a fuzzer's bytes.
type dice interface{ pick(n int) int }

type chance struct{ *rand.Rand }

func (c chance) pick(n int) int { return c.IntN(n) }

// history is a run of calls on a reader beside a plain model of it: all the
// bytes, and a place in them.
type history struct {
	t    testing.TB
	dice dice
	r    *sluice.BufReader
	data []byte // everything that the source gives
	had  int    // of it, what a call can have by now
	end  error  // what comes then: io.EOF, or ErrShort of a fed reader
	more func() // feeds more; nil when had is everything

	pos   int // consumed
	fixed int // where UnreadByte is refused
	mark  int // -1: none
	lines int // Limits.Line
	kept  []keeping
	log   []string
}

// keeping is a Buf or a Memory that is held, and where its bytes came from.
type keeping struct {
	buf  mem.Buf
	list *mem.Memory
	at   int
	n    int
}

const mostKept = 10

func newHistory(t testing.TB, d dice, r *sluice.BufReader, data []byte) *history {
	h := &history{t: t, dice: d, r: r, data: data, had: len(data), end: io.EOF, mark: -1, lines: 64 << 10}
	if d.pick(3) == 0 {
		h.lines = 10 + d.pick(300)
		r.SetLimits(sluice.Limits{Line: h.lines})
		h.note("Limits.Line %d", h.lines)
	}
	return h
}

func (h *history) note(format string, args ...any) {
	if len(h.log) == 40 {
		h.log = h.log[1:]
	}
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *history) fatalf(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("at byte %d of %d (%d to be had): %s\nafter: %s", h.pos, len(h.data), h.had, fmt.Sprintf(format, args...), strings.Join(h.log, "; "))
}

// size draws a number of bytes: mostly small, sometimes of several blocks.
func (h *history) size() int {
	switch h.dice.pick(12) {
	case 0:
		return h.dice.pick(150_000)
	case 1, 2, 3:
		return h.dice.pick(6000)
	}
	return h.dice.pick(24)
}

// same checks bytes that a call returned, which are those at the place at.
func (h *history) same(op string, p []byte, at int) {
	h.t.Helper()
	if at+len(p) > len(h.data) {
		h.fatalf("%s returned %d bytes from byte %d on", op, len(p), at)
	}
	if !bytes.Equal(p, h.data[at:at+len(p)]) {
		i := 0
		for p[i] == h.data[at+i] {
			i++
		}
		h.fatalf("%s: byte %d of %d is %#x, want %#x", op, i, len(p), p[i], h.data[at+i])
	}
}

// borrowed checks a view: the bytes, and that append cannot write behind it.
func (h *history) borrowed(op string, p []byte) {
	h.t.Helper()
	if cap(p) != len(p) {
		h.fatalf("%s: a view of %d bytes has capacity %d", op, len(p), cap(p))
	}
	h.same(op, p, h.pos)
}

// transient reports whether err is a deadline that passed.
func transient(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// atOnce checks the error of a call that wants n bytes at once, and reports
// whether it had to succeed. Whatever fails has consumed nothing, which check
// sees.
func (h *history) atOnce(op string, n int, err error) bool {
	h.t.Helper()
	left := h.had - h.pos
	switch {
	case transient(err):
		return false
	case n <= left:
		if err != nil {
			h.fatalf("%s(%d): %v", op, n, err)
		}
		return true
	}
	want := h.end
	if want == io.EOF && left > 0 {
		want = io.ErrUnexpectedEOF
	}
	h.failed(op, err, want)
	return false
}

func (h *history) failed(op string, err, want error) {
	h.t.Helper()
	if !errors.Is(err, want) {
		h.fatalf("%s: error %v, want %v", op, err, want)
	}
	// Nobody unwraps to find the end of a stream.
	if want == io.EOF && err != io.EOF {
		h.fatalf("%s: io.EOF is wrapped: %#v", op, err)
	}
}

// inPart checks the error of a call that hands on what it gets of n bytes, and
// got got.
func (h *history) inPart(op string, n, got int, err error) {
	h.t.Helper()
	left := h.had - h.pos
	h.pos += got
	if got > 0 && err != nil {
		var e *sluice.Error
		if !errors.As(err, &e) || e.Op != op || e.Done != int64(got) {
			h.fatalf("%s(%d) got %d bytes and says %v", op, n, got, err)
		}
	}
	switch {
	case transient(err):
		return
	case n <= left:
		if err != nil || got != n {
			h.fatalf("%s(%d): %d bytes, %v", op, n, got, err)
		}
		return
	case got != left:
		h.fatalf("%s(%d): %d of the %d bytes that there were, %v", op, n, got, left, err)
	}
	want := h.end
	if want == io.EOF && got > 0 {
		want = io.ErrUnexpectedEOF
	}
	h.failed(op, err, want)
}

// ops are the calls, each with how often it is drawn.
var ops = []struct {
	name  string
	often int
	run   func(h *history)
}{
	{"Next", 8, (*history).next},
	{"Peek", 4, (*history).peek},
	{"View", 4, (*history).view},
	{"ReadBuf", 5, (*history).readBuf},
	{"ReadBytes", 5, (*history).readBytes},
	{"ReadRange", 3, (*history).readRange},
	{"Skip", 2, (*history).skip},
	{"Discard", 2, (*history).discard},
	{"ReadByte", 5, (*history).readByte},
	{"UnreadByte", 6, (*history).unreadByte},
	{"numbers", 5, (*history).number},
	{"ReadSlice", 3, (*history).readSlice},
	{"ReadLine", 3, (*history).readLine},
	{"Read", 4, (*history).read},
	{"WriteTo", 1, (*history).writeTo},
	{"Mark", 2, (*history).setMark},
	{"Rollback", 2, (*history).rollback},
	{"Unmark", 1, (*history).unmark},
	{"release", 3, (*history).releaseOne},
	{"feed", 6, (*history).feedMore},
}

var deck = func() (deck []int) {
	for i, op := range ops {
		deck = append(deck, slices.Repeat([]int{i}, op.often)...)
	}
	return deck
}()

func (h *history) step() {
	op := ops[deck[h.dice.pick(len(deck))]]
	if op.name == "WriteTo" && h.dice.pick(8) != 0 {
		return // it ends the stream
	}
	op.run(h)
	h.check()
}

// check holds the reader's own figures against the model.
func (h *history) check() {
	h.t.Helper()
	total, buffered := h.r.TotalRead(), h.r.Buffered()
	if got := total - int64(buffered); got != int64(h.pos) {
		h.fatalf("the reader has consumed %d bytes (%d read, %d buffered)", got, total, buffered)
	}
	if total > int64(h.had) {
		h.fatalf("the reader has read %d bytes", total)
	}
}

func (h *history) next() {
	n := h.size()
	h.note("Next(%d)", n)
	p, err := h.r.Next(n)
	if h.atOnce("Next", n, err) {
		h.borrowed("Next", p)
		h.pos += n
	} else if p != nil {
		h.fatalf("Next failed and returned %d bytes", len(p))
	}
}

func (h *history) peek() {
	n := h.size()
	h.note("Peek(%d)", n)
	p, err := h.r.Peek(n)
	h.fixed = h.pos
	h.borrowed("Peek", p)
	want := n
	switch left := h.had - h.pos; {
	case transient(err):
		want = h.r.Buffered()
	case n <= left && err != nil:
		h.fatalf("Peek(%d): %v", n, err)
	case n > left:
		h.failed("Peek", err, h.end)
		want = left
	}
	if len(p) != want {
		h.fatalf("Peek(%d) returned %d bytes, want %d", n, len(p), want)
	}
}

func (h *history) view() {
	p := h.r.View()
	h.note("View of %d", len(p))
	h.borrowed("View", p)
	if b := h.r.Buffered(); len(p) > b {
		h.fatalf("View of %d bytes, %d are buffered", len(p), b)
	}
	if len(p) > 0 {
		n := h.dice.pick(len(p) + 1)
		h.note("Advance(%d)", n)
		h.r.Advance(n)
		h.pos += n
	}
}

func (h *history) readBuf() {
	n := h.size()
	h.note("ReadBuf(%d)", n)
	buf, err := h.r.ReadBuf(n)
	if h.atOnce("ReadBuf", n, err) {
		if buf.Len() != n {
			h.fatalf("ReadBuf(%d) returned %d bytes", n, buf.Len())
		}
		h.keep(keeping{buf: buf, at: h.pos, n: n})
		h.pos += n
	} else if buf.Valid() {
		h.fatalf("ReadBuf failed and returned a Buf")
	}
}

func (h *history) readBytes() {
	n := h.size()
	h.note("ReadBytes(%d)", n)
	list, err := h.r.ReadBytes(n)
	if h.atOnce("ReadBytes", n, err) {
		if list.Size != n {
			h.fatalf("ReadBytes(%d) returned %d bytes", n, list.Size)
		}
		h.keep(keeping{list: list, at: h.pos, n: n})
		h.pos += n
	} else if list != nil {
		h.fatalf("ReadBytes failed and returned a Memory")
	}
}

func (h *history) keep(k keeping) {
	h.checkKept(k)
	h.kept = append(h.kept, k)
	if len(h.kept) > mostKept {
		h.release(0)
	}
}

func (h *history) checkKept(k keeping) {
	h.t.Helper()
	if k.list == nil {
		h.same("a Buf that is held", k.buf.Bytes(), k.at)
		return
	}
	at := k.at
	for p := range k.list.All() {
		h.same("a Memory that is held", p, at)
		at += len(p)
	}
}

func (h *history) release(i int) {
	h.t.Helper()
	k := h.kept[i]
	h.checkKept(k)
	if k.list != nil {
		k.list.Release()
	} else {
		k.buf.Release()
	}
	h.kept = slices.Delete(h.kept, i, i+1)
}

func (h *history) releaseOne() {
	if len(h.kept) > 0 {
		i := h.dice.pick(len(h.kept))
		h.note("Release of %d from byte %d", h.kept[i].n, h.kept[i].at)
		h.release(i)
	}
}

func (h *history) readRange() {
	n := h.size()
	h.note("ReadRange(%d)", n)
	at, got := h.pos, 0
	err := h.r.ReadRange(n, func(p []byte) {
		if len(p) == 0 || cap(p) != len(p) {
			h.fatalf("ReadRange passed %d bytes with capacity %d", len(p), cap(p))
		}
		h.same("ReadRange", p, at+got)
		got += len(p)
	})
	h.inPart("ReadRange", n, got, err)
}

func (h *history) skip() {
	n := h.size()
	h.note("Skip(%d)", n)
	err := h.r.Skip(n)
	got := n
	if err != nil {
		got = 0
		if e := (*sluice.Error)(nil); errors.As(err, &e) {
			got = int(e.Done)
		}
	}
	h.inPart("Skip", n, got, err)
}

func (h *history) discard() {
	n := h.size()
	h.note("Discard(%d)", n)
	left := h.had - h.pos
	got, err := h.r.Discard(n)
	h.pos += got
	h.fixed = h.pos
	switch {
	case transient(err):
		if got >= n {
			h.fatalf("Discard(%d): %d bytes, %v", n, got, err)
		}
	case n <= left:
		if got != n || err != nil {
			h.fatalf("Discard(%d): %d bytes, %v", n, got, err)
		}
	default:
		h.failed("Discard", err, h.end)
		if got != left {
			h.fatalf("Discard(%d) of %d bytes: %d", n, left, got)
		}
	}
}

func (h *history) readByte() {
	h.note("ReadByte")
	c, err := h.r.ReadByte()
	if h.atOnce("ReadByte", 1, err) {
		h.same("ReadByte", []byte{c}, h.pos)
		h.pos++
	}
}

func (h *history) unreadByte() {
	h.note("UnreadByte")
	err := h.r.UnreadByte()
	if h.pos == 0 || h.pos == h.fixed {
		if err != bufio.ErrInvalidUnreadByte {
			h.fatalf("UnreadByte: %v, want %v", err, bufio.ErrInvalidUnreadByte)
		}
		return
	}
	if err != nil {
		h.fatalf("UnreadByte: %v", err)
	}
	h.pos--
	h.fixed = h.pos
}

func (h *history) number() {
	n := 1 + h.dice.pick(4)
	kind := h.dice.pick(3)
	h.note("number %d of %d", kind, n)
	var got uint64
	var err error
	var op string
	switch kind {
	case 0:
		var v uint32
		op = "ReadBE32"
		v, err = h.r.ReadBE32(n)
		got = uint64(v)
	case 1:
		var v uint32
		op = "ReadLE32"
		v, err = h.r.ReadLE32(n)
		got = uint64(v)
	case 2:
		var v int
		op = "ReadBE"
		v, err = h.r.ReadBE(n)
		got = uint64(v)
		if errors.Is(err, sluice.ErrOverflow) && n == 4 && h.data[h.pos] >= 0x80 {
			return // an int of 32 bits
		}
	}
	if !h.atOnce(op, n, err) {
		return
	}
	var wide [8]byte
	if kind == 1 {
		copy(wide[:], h.data[h.pos:h.pos+n])
		if want := binary.LittleEndian.Uint64(wide[:]); got != want {
			h.fatalf("%s(%d) is %#x, want %#x", op, n, got, want)
		}
	} else {
		copy(wide[8-n:], h.data[h.pos:h.pos+n])
		if want := binary.BigEndian.Uint64(wide[:]); got != want {
			h.fatalf("%s(%d) is %#x, want %#x", op, n, got, want)
		}
	}
	h.pos += n
}

func (h *history) readSlice() {
	delim := h.data[h.dice.pick(len(h.data))]
	h.note("ReadSlice(%#x)", delim)
	p, err := h.r.ReadSlice(delim)
	if transient(err) {
		if p != nil {
			h.fatalf("ReadSlice: %d bytes and %v", len(p), err)
		}
		return
	}
	h.borrowed("ReadSlice", p)
	left := h.data[h.pos:h.had]
	if i := bytes.IndexByte(left, delim); i >= 0 {
		if err != nil || len(p) != i+1 {
			h.fatalf("ReadSlice(%#x): %d bytes, %v; want %d", delim, len(p), err, i+1)
		}
		h.pos += i + 1
		return
	}
	h.failed("ReadSlice", err, h.end)
	want := 0
	if h.end == io.EOF {
		want = len(left)
	}
	if len(p) != want {
		h.fatalf("ReadSlice(%#x): %d bytes, %v; want %d", delim, len(p), err, want)
	}
	h.pos += want
}

func (h *history) readLine() {
	var p []byte
	var err error
	if h.dice.pick(2) == 0 {
		h.note("ReadLine")
		var s string
		s, err = h.r.ReadLine()
		p = []byte(s)
	} else {
		h.note("ReadLineSlice")
		p, err = h.r.ReadLineSlice()
		if len(p) > 0 {
			h.borrowed("ReadLineSlice", p)
		}
	}
	if transient(err) {
		if len(p) > 0 {
			h.fatalf("ReadLine: %d bytes and %v", len(p), err)
		}
		return
	}
	left := h.data[h.pos:h.had]
	i := bytes.IndexByte(left, '\n')
	switch {
	case i >= h.lines || i < 0 && len(left) >= h.lines:
		h.failed("ReadLine", err, sluice.ErrTooLong)
		if len(p) > 0 {
			h.fatalf("ReadLine: %d bytes and %v", len(p), err)
		}
	case i >= 0:
		want := bytes.TrimSuffix(left[:i], []byte{'\r'})
		if err != nil || !bytes.Equal(p, want) {
			h.fatalf("ReadLine: %q, %v; want %q", p, err, want)
		}
		h.pos += i + 1
	case h.end != io.EOF || len(left) == 0:
		h.failed("ReadLine", err, h.end)
	default:
		h.failed("ReadLine", err, io.ErrUnexpectedEOF)
		h.same("ReadLine", p, h.pos)
		if len(p) != len(left) {
			h.fatalf("ReadLine: %d bytes at the end, want %d", len(p), len(left))
		}
		h.pos += len(left)
	}
}

func (h *history) read() {
	p := make([]byte, h.size())
	h.note("Read of %d", len(p))
	n, err := h.r.Read(p)
	if len(p) == 0 {
		if n != 0 || err != nil {
			h.fatalf("Read of nothing: %d, %v", n, err)
		}
		return
	}
	if n == 0 {
		h.atOnce("Read", 1, err)
		return
	}
	if err != nil {
		h.fatalf("Read: %d bytes and %v", n, err)
	}
	h.same("Read", p[:n], h.pos)
	h.pos += n
}

func (h *history) writeTo() {
	h.note("WriteTo")
	var out bytes.Buffer
	n, err := h.r.WriteTo(&out)
	if int(n) != out.Len() {
		h.fatalf("WriteTo: %d, and %d were written", n, out.Len())
	}
	h.same("WriteTo", out.Bytes(), h.pos)
	left := h.had - h.pos
	h.pos += int(n)
	h.fixed = h.pos
	if transient(err) {
		return
	}
	if h.end == io.EOF {
		if err != nil {
			h.fatalf("WriteTo: %v", err)
		}
	} else {
		h.failed("WriteTo", err, h.end)
	}
	if int(n) != left {
		h.fatalf("WriteTo: %d bytes of %d", n, left)
	}
}

func (h *history) setMark() {
	h.note("Mark")
	h.r.Mark()
	h.mark, h.fixed = h.pos, h.pos
}

func (h *history) rollback() {
	if h.mark >= 0 {
		h.note("Rollback")
		h.r.Rollback()
		h.pos, h.fixed, h.mark = h.mark, h.mark, -1
	}
}

func (h *history) unmark() {
	h.note("Unmark")
	h.r.Unmark()
	h.mark = -1
}

func (h *history) feedMore() {
	if h.more != nil {
		h.more()
	}
}

// finish reads what is left, and lets go of everything.
func (h *history) finish() {
	h.r.Unmark()
	for h.more != nil {
		h.more()
	}
	for {
		p, err := h.r.Peek(1)
		if transient(err) {
			continue
		}
		if err != nil {
			break
		}
		h.borrowed("Peek", p)
		n := len(h.r.View())
		h.borrowed("View", h.r.View())
		h.r.Advance(n)
		h.pos += n
	}
	if h.pos != len(h.data) {
		h.fatalf("the stream ended")
	}
	h.check()
	h.r.Recycle()
	for len(h.kept) > 0 {
		h.release(0)
	}
}

// modelData returns n bytes with lines in them, some long, of few values
// beside, so that ReadSlice stops soon or late.
func modelData(rng *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := 0; i < n; {
		length := rng.IntN(60)
		if rng.IntN(30) == 0 {
			length = rng.IntN(4000)
		}
		for end := min(n, i+length); i < end; i++ {
			p[i] = byte(rng.IntN(256))
			if p[i] == '\n' && rng.IntN(4) > 0 {
				p[i] = 'n'
			}
		}
		if i < n-1 && rng.IntN(2) == 0 {
			p[i] = '\r'
			i++
		}
		if i < n {
			p[i] = '\n'
			i++
		}
	}
	return p
}

// flaky is a source that a deadline interrupts now and then, also together
// with bytes.
type flaky struct {
	data []byte
	dice dice
	most int
}

func (f *flaky) Read(p []byte) (int, error) {
	if f.dice.pick(5) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	if len(f.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 1+f.dice.pick(f.most))], f.data)
	f.data = f.data[n:]
	if f.dice.pick(5) == 0 {
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

// fedHistory is one of a reader that is fed between the calls.
func fedHistory(t testing.TB, d dice, a *mem.Allocator, data []byte, most int) *history {
	r := sluice.NewBufReaderFed()
	sluice.UseAllocator(r, a)
	t.Cleanup(r.Recycle)
	h := newHistory(t, d, r, data)
	h.had, h.end = 0, sluice.ErrShort
	turn := 0
	h.more = func() {
		if h.had == len(data) {
			h.note("FeedEnd")
			r.FeedEnd(nil)
			h.end, h.more = io.EOF, nil
			return
		}
		n := min(1+d.pick(most), len(data)-h.had)
		turn += d.pick(3)
		h.note("feed %d of %d", turn%3, n)
		if err := feed(r, a, turn, data[h.had:h.had+n]); err != nil {
			h.fatalf("feed of %d bytes: %v", n, err)
		}
		h.had += n
		h.check()
	}
	return h
}

func TestRandomHistoriesAgreeWithTheModel(t *testing.T) {
	seed := sluicetest.Seed(t)
	runs, steps := 6, 400
	if testing.Short() {
		runs = 2
	}
	allocators := []struct {
		name string
		make func(t *testing.T) *mem.Allocator
	}{
		{"paranoid", func(t *testing.T) *mem.Allocator { return paranoid(t) }},
		{"paranoid with a budget", func(t *testing.T) *mem.Allocator { return watched(t, 16<<20) }},
	}
	all := append(streams(),
		stream{"flaky", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			return readerOf(t, a, 0, &flaky{data, chance{rand.New(rand.NewPCG(seed, uint64(next())))}, next()})
		}},
		stream{"flaky, BufLen 300", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			return readerOf(t, a, 300, &flaky{data, chance{rand.New(rand.NewPCG(seed, uint64(next())))}, next()})
		}},
		stream{name: "fed between calls"},
	)
	for i, s := range all {
		for k, al := range allocators {
			for run := range runs {
				t.Run(fmt.Sprintf("%s/%s/%d", s.name, al.name, run), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(seed, uint64(i*1000+k*100+run)))
					data := modelData(rng, 1+rng.IntN(400_000)>>rng.IntN(10))
					a := al.make(t)
					most := 1 + rng.IntN(100_000)>>rng.IntN(17)
					most = max(most, len(data)/2000)
					var h *history
					if s.open == nil {
						h = fedHistory(t, chance{rng}, a, data, most)
					} else {
						// The writer is another goroutine.
						lengths := rand.New(rand.NewPCG(seed, uint64(run)))
						r := s.open(t, a, data, func() int { return 1 + lengths.IntN(most) })
						h = newHistory(t, chance{rng}, r, data)
					}
					for range steps {
						h.step()
					}
					h.finish()
				})
			}
		}
	}
}
