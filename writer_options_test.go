package sluice_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

func TestNewBufWriterOfABufWriterReturnsItWhenItSuits(t *testing.T) {
	a, b := mem.New(mem.Options{}), mem.New(mem.Options{})
	usual := writerOf(t, a, 0, io.Discard)
	small := writerOf(t, a, 1000, io.Discard)
	var zero sluice.BufWriter
	for _, c := range []struct {
		name string
		w    *sluice.BufWriter
		o    []sluice.Options
		same bool
	}{
		{"no Options", usual, nil, true},
		{"zero Options", usual, []sluice.Options{{}}, true},
		{"a smaller bound", usual, []sluice.Options{{BufLen: 100}}, true},
		{"a larger bound", usual, []sluice.Options{{BufLen: 1 << 20}}, false},
		{"its allocator", usual, []sluice.Options{{Allocator: a}}, true},
		{"another allocator", usual, []sluice.Options{{Allocator: b}}, false},
		{"the default bound of one that has less", small, nil, false},
		{"the bound that it has", small, []sluice.Options{{BufLen: 1000}}, true},
		{"a writer to nothing", &zero, nil, false},
	} {
		if got := sluice.NewBufWriter(c.w, c.o...); (got == c.w) != c.same {
			t.Errorf("%s: the same writer %v, want %v", c.name, got == c.w, c.same)
		}
	}
}

func TestNewBufWriterTakesOneOptionsAtMost(t *testing.T) {
	text := panicOf(func() { sluice.NewBufWriter(io.Discard, sluice.Options{}, sluice.Options{}) })
	if !strings.HasPrefix(text, "sluice: NewBufWriter with 2 Options") {
		t.Errorf("panic %q", text)
	}
}

func TestWriterResetKeepsTheOptions(t *testing.T) {
	a := paranoid(t)
	var one, two recorder
	w := writerOf(t, a, 10, &one)
	for _, out := range []*recorder{&one, &two} {
		w.Reset(out)
		_, _ = w.WriteString("eleven bytes")
		if len(out.all()) != 10 || holds(a) != 1 {
			t.Errorf("%d bytes went out, %d blocks are held", len(out.all()), holds(a))
		}
	}
}

func TestWriterResetToItselfDoesNothing(t *testing.T) {
	var out bytes.Buffer
	w := writerOf(t, paranoid(t), 0, &out)
	_, _ = w.WriteString("still here")
	w.Reset(w)
	if err := w.Flush(); err != nil || out.String() != "still here" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestWriterResetAllocatesNothing(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("allocations are counted in plain builds only")
	}
	tcp, _ := tcpPair(t)
	unix, _ := unixPair(t)
	for _, c := range []io.Writer{tcp, unix, io.Discard, nil} {
		w := writerOf(t, mem.New(mem.Options{}), 0, c)
		if n := testing.AllocsPerRun(100, func() { w.Reset(c) }); n != 0 {
			t.Errorf("Reset to a %T: %v allocations", c, n)
		}
	}
}

func TestWriterBoundByDefault(t *testing.T) {
	plain := struct{ io.Writer }{io.Discard}
	tcp := func(t *testing.T) (c net.Conn) {
		near, far := tcpPair(t)
		goTest(t, func() { _, _ = io.Copy(struct{ io.Writer }{io.Discard}, far) })
		t.Cleanup(func() { _ = near.Close() })
		return near
	}
	for _, c := range []struct {
		name  string
		w     io.Writer
		bound int
	}{{"plain", plain, 64 << 10}, {"tcp", tcp(t), 128 << 10}, {"wrapped tcp", struct{ net.Conn }{tcp(t)}, 64 << 10}} {
		w := writerOf(t, paranoid(t), 0, c.w)
		for range c.bound {
			_ = w.WriteByte(1)
		}
		if n := w.Buffered(); n != c.bound {
			t.Errorf("%s: %d bytes wait after %d", c.name, n, c.bound)
		}
		if _ = w.WriteByte(1); w.Buffered() != 1 {
			t.Errorf("%s: %d bytes wait after %d", c.name, w.Buffered(), c.bound+1)
		}
	}
}

// A short Buf costs less copied, and its memory is free for others at once.
func TestWriterReleasesShortBufsAtOnce(t *testing.T) {
	tcp, _ := tcpPair(t)
	unix, _ := unixPair(t)
	client, _ := net.Pipe()
	for _, c := range []struct {
		name string
		w    io.Writer
		from int // the shortest that is not copied
	}{
		{"tcp", tcp, 4 << 10},
		{"unix", unix, 4 << 10},
		{"other", client, 64 << 10},
	} {
		for _, n := range []int{0, 1, 100, c.from - 1, c.from} {
			w := writerOf(t, paranoid(t), 1<<20, c.w)
			freed := false
			if err := w.WriteBuf(mem.Wrap(make([]byte, n), func() { freed = true })); err != nil {
				t.Fatal(err)
			}
			if freed != (n < c.from) {
				t.Errorf("%s: %d bytes: released %v before Flush", c.name, n, freed)
			}
		}
	}
}

// A Buf as long as the bound must not go out in as many calls as it has bytes.
func TestWriterSendsABufAboveASmallBoundInOneCall(t *testing.T) {
	var r recorder
	w := writerOf(t, paranoid(t), 100, &r)
	if err := w.WriteBuf(mem.Wrap(make([]byte, 3000), nil)); err != nil || len(r.calls) != 1 {
		t.Errorf("calls of %v bytes, %v", r.lengths(), err)
	}
}
