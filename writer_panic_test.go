package sluice_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// fault is what a faulty sink does in one call.
type fault int

const (
	faultNone      fault = iota
	faultError           // takes a part and fails
	faultShort           // takes a part and says nothing
	faultPanic           // panics and has taken nothing
	faultPanicLate       // panics and has taken a part
	faultTooMany         // says that it took more than it was given
	faultDeadline        // panics when the deadline is set
	faultKinds
)

// faulty is a sink whose call number at goes wrong. counted are the bytes that
// it has said it took.
type faulty struct {
	bytes.Buffer
	kind    fault
	at      int
	part    int // in 256ths
	counted int64
}

func (f *faulty) now(k ...fault) bool {
	for _, k := range k {
		if f.kind == k {
			f.at--
			return f.at < 0
		}
	}
	return false
}

func (f *faulty) SetWriteDeadline(at time.Time) error {
	if !at.IsZero() && f.now(faultDeadline) { // and not when SetTimeout asks whether there are any
		panic("injected")
	}
	return nil
}

func (f *faulty) Write(p []byte) (int, error) {
	n := len(p)
	var err error
	if f.now(faultError, faultShort, faultPanic, faultPanicLate, faultTooMany) {
		n = len(p) * f.part / 256
		switch f.kind {
		case faultError:
			err = errSink
		case faultPanic:
			panic("injected")
		case faultPanicLate:
			f.Buffer.Write(p[:n])
			panic("injected")
		case faultTooMany:
			return len(p) + 1, nil
		}
	}
	f.Buffer.Write(p[:n])
	f.counted += int64(n)
	return n, err
}

// faultRun is a random history of one writer over a faulty sink.
type faultRun struct {
	t           *testing.T
	name        string
	dice        *rand.Rand
	w           *sluice.BufWriter
	a           *mem.Allocator
	sink        *faulty
	want        []byte // all that was given to the writer
	given, back int
	broken      bool // a release is to panic
}

func (r *faultRun) fresh(n int) []byte {
	p := make([]byte, n)
	seed := byte(r.dice.Uint32())
	for i := range p {
		p[i] = seed + byte(i) + byte(i>>8)
	}
	r.want = append(r.want, p...)
	return p
}

func (r *faultRun) size() int {
	return []int{r.dice.IntN(300), r.dice.IntN(5000), r.dice.IntN(80_000), 1, 0}[r.dice.IntN(5)]
}

func (r *faultRun) buf(p []byte) mem.Buf {
	if r.dice.IntN(2) == 0 {
		b := r.a.Get(len(p))
		copy(b.Bytes(), p)
		return b
	}
	r.given++
	freed := false
	broken := r.broken && r.dice.IntN(40) == 0
	return mem.Wrap(bytes.Clone(p), func() {
		if freed {
			r.t.Errorf("%s: released twice", r.name)
		}
		freed = true
		r.back++
		if broken {
			panic("injected")
		}
	})
}

func (r *faultRun) call() error {
	switch r.dice.IntN(8) {
	case 0:
		_, err := r.w.Write(r.fresh(r.size()))
		return err
	case 1:
		_, err := r.w.WriteString(string(r.fresh(r.size())))
		return err
	case 2:
		return r.w.WriteByte(r.fresh(1)[0])
	case 3, 4:
		return r.w.WriteBuf(r.buf(r.fresh(r.size())))
	case 5:
		n := r.size()
		r.want = binary.BigEndian.AppendUint32(r.want, uint32(n))
		return r.w.WriteFrame(4, binary.BigEndian, r.buf(r.fresh(n)))
	case 6:
		defer func(b bool) { r.broken = b }(r.broken)
		r.broken = false // a Memory that panics in its Release is a matter of package mem
		return r.w.WriteMemory(mem.NewMemory(r.buf(r.fresh(r.size())), r.buf(r.fresh(r.size())), r.buf(r.fresh(r.size()))))
	}
	return r.w.Flush()
}

// guarded makes a call as one that recovers does. A panic other than an
// injected one or the library's panic on a wrong count fails the test.
func (r *faultRun) guarded() (err error, panicked bool) {
	text := panicOf(func() { err = r.call() })
	if text != "" && text != "injected" && !(r.sink.kind == faultTooMany && strings.HasPrefix(text, "sluice: ")) {
		r.t.Fatalf("%s: panic %q", r.name, text)
	}
	return err, text != ""
}

// released fails the test when the writer has kept something.
func (r *faultRun) released(when string) {
	r.t.Helper()
	if r.back != r.given || holds(r.a) != 0 || r.w.Buffered() != 0 {
		r.t.Fatalf("%s: %s: %d of %d Bufs came back, %d blocks are held, %d bytes wait", r.name, when, r.back, r.given, holds(r.a), r.w.Buffered())
	}
}

func TestWriterIsRightAfterAPanicAnErrorAndAShortWrite(t *testing.T) {
	seed := sluicetest.Seed(t)
	for run := range rounds(140) {
		kind := fault(run) % faultKinds
		dice := rand.New(rand.NewPCG(seed, uint64(run)))
		a := paranoid(t)
		sink := &faulty{kind: kind, at: dice.IntN(12), part: dice.IntN(256)}
		w := writerOf(t, a, []int{0, 100, 5000, 300_000}[dice.IntN(4)], sink)
		r := &faultRun{t: t, name: fmt.Sprintf("run %d, fault %d", run, kind), dice: dice, w: w, a: a, sink: sink}
		if kind == faultDeadline {
			if err := w.SetTimeout(time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		var first error
		for range 80 {
			err, panicked := r.guarded()
			if panicked {
				err = w.Flush() // what stays
			}
			if err == nil {
				if got := sluice.WrittenBy(w) + int64(w.Buffered()); panicked || got != int64(len(r.want)) {
					t.Fatalf("%s: no error; %d bytes went out or wait, %d were given", r.name, got, len(r.want))
				}
				continue
			}
			var e *sluice.Error
			if first == nil && (!errors.As(err, &e) || e.Done < 0 || e.Done > sluice.LimitOf(e) || sluice.LimitOf(e) == 0) {
				t.Fatalf("%s: %v", r.name, err)
			}
			if first != nil && err != first {
				t.Fatalf("%s: %v, before it was %v", r.name, err, first)
			}
			first = err
			r.released("after " + err.Error())
		}
		if first != nil && (kind == faultError && !errors.Is(first, errSink) || kind == faultShort && !errors.Is(first, io.ErrShortWrite)) {
			t.Fatalf("%s: %v", r.name, first)
		}
		if sluice.WrittenBy(w) != sink.counted || !bytes.HasPrefix(r.want, sink.Bytes()) {
			t.Fatalf("%s: %d bytes written, the sink counted %d, or it has other bytes", r.name, sluice.WrittenBy(w), sink.counted)
		}
		w.Recycle()
		r.released("after Recycle")

		// The same writer is as good as a new one.
		var out bytes.Buffer
		w.Reset(&out)
		if _, err := w.WriteString("again"); err != nil || w.Flush() != nil || out.String() != "again" || sluice.WrittenBy(w) != 5 {
			t.Fatalf("%s: after Reset: %q, %v", r.name, out.String(), err)
		}
	}
}

// A function given to mem.Wrap may panic when the writer releases the Buf. The
// others are released all the same, by a later call, and no byte goes out twice.
func TestWriterIsRightAfterAReleaseThatPanics(t *testing.T) {
	seed := sluicetest.Seed(t)
	for run := range rounds(60) {
		dice := rand.New(rand.NewPCG(seed, uint64(run)))
		a := paranoid(t)
		sink := &faulty{}
		w := writerOf(t, a, 1<<30, sink) // flushed by Flush only
		r := &faultRun{t: t, name: fmt.Sprintf("run %d", run), dice: dice, w: w, a: a, sink: sink, broken: true}
		for range 60 {
			if err, _ := r.guarded(); err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
		}
		for panicOf(func() { _ = w.Flush() }) != "" {
		}
		if sluice.WrittenBy(w) != sink.counted || !bytes.Equal(r.want, sink.Bytes()) {
			t.Fatalf("%s: %d bytes went out, %d were given, or others", r.name, sink.Len(), len(r.want))
		}
		for panicOf(w.Recycle) != "" {
		}
		r.released("after Recycle")
	}
}

func TestWriterPanicInTheMiddleOfALargeWriteKeepsNothingOfIt(t *testing.T) {
	a := paranoid(t)
	sink := &faulty{kind: faultPanic, at: 1}
	w := writerOf(t, a, 0, sink)
	_ = w.WriteMemory(mem.NewMemory(a.Get(20_000), a.Get(20_000)))
	if text := panicOf(func() { _ = w.Flush() }); text != "injected" {
		t.Fatalf("panic %q", text)
	}
	var e *sluice.Error
	if err := w.Flush(); !errors.As(err, &e) || sluice.OpOf(e) != "Flush" || sluice.LimitOf(e) != 40_000 || e.Done != 20_000 {
		t.Errorf("%v", err)
	}
	if holds(a) != 0 || sluice.WrittenBy(w) != 20_000 || w.Buffered() != 0 {
		t.Errorf("%d blocks are held, %d bytes went out, %d wait", holds(a), sluice.WrittenBy(w), w.Buffered())
	}
}
