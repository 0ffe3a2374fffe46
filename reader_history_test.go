package sluice_test

import (
	"bytes"
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
		r.SetLimits(sluice.Options{Line: h.lines})
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

// transient reports whether err is a deadline that passed, or what a harsh
// source did.
func transient(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, errSource) || err == errPanicky
}

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
	// Callers compare with == to find the end of a stream.
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
		if !errors.As(err, &e) || sluice.OpOf(e) != op || e.Done != int64(got) {
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
	{"ReadBufs", 3, (*history).readBufs},
	{"ReadBytes", 5, (*history).readBytes},
	{"ReadRange", 3, (*history).readRange},
	{"Skip", 2, (*history).skip},
	{"Discard", 2, (*history).discard},
	{"ReadByte", 5, (*history).readByte},
	{"UnreadByte", 6, (*history).unreadByte},
	{"numbers", 5, (*history).number},
	{"ReadFrame", 5, (*history).readFrame},
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
	if err := recovered(func() error { op.run(h); return nil }); err != nil {
		h.panicked(op.name)
	}
	h.check()
}

// panicked is the model of a call in which the source panicked.
func (h *history) panicked(op string) {
	h.note("the source panicked")
	used := int(h.r.TotalRead()) - h.r.Buffered()
	switch op {
	case "ReadRange", "Skip", "Discard", "WriteTo":
		if used < h.pos || used > h.had {
			h.fatalf("%s: %d bytes are consumed", op, used)
		}
		h.pos = used
	}
	switch op {
	case "Peek", "WriteTo":
		h.fixed = h.pos
	}
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

// finish reads what is left, and lets go of everything.
func (h *history) finish() {
	h.r.Unmark()
	for h.more != nil {
		h.more()
	}
	for {
		var p []byte
		err := recovered(func() (err error) { p, err = h.r.Peek(1); return })
		if transient(err) {
			continue
		}
		if err != nil {
			break
		}
		h.borrowed("Peek", p)
		n := len(h.r.View())
		h.borrowed("View", h.r.View())
		_ = h.r.Skip(n)
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
