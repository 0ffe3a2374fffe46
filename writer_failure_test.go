package sluice_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// writeScript is a fixed run of calls on a writer, with every way to write, that
// goes on after errors. What was transferred must come back whatever happens.
type writeScript struct {
	w           *sluice.BufWriter
	a           *mem.Allocator
	data        []byte // the bytes to write
	used        int
	steps       []func() error
	given, back int
}

func newWriteScript(w *sluice.BufWriter, a *mem.Allocator) *writeScript {
	s := &writeScript{w: w, a: a, data: testData(150_000)}
	add := func(f func() error) { s.steps = append(s.steps, f) }
	write := func(n int) { add(func() error { _, err := w.Write(s.next(n)); return err }) }
	for range 2 {
		write(4)
		add(func() error { return w.WriteByte(s.next(1)[0]) })
		add(func() error { _, err := w.WriteString(string(s.next(700))); return err })
		add(func() error { return w.WriteBuf(s.wrap(100)) })
		add(func() error { return w.WriteBuf(s.wrap(5000)) })
		add(func() error {
			b := a.Get(3000)
			copy(b.Bytes(), s.next(3000))
			return w.WriteBuf(b)
		})
		add(w.Flush)
		write(6000)
		add(func() error { return w.WriteMemory(mem.NewMemory(s.wrap(1), s.wrap(2000), s.wrap(20_000))) })
		write(9000) // sent at once
		add(func() error { _, err := w.ReadFrom(bytes.NewReader(s.next(10_000))); return err })
		write(10)
		add(w.Flush)
		add(func() error { return w.WriteBuf(s.wrap(17_000)) })
	}
	add(w.Flush)
	return s
}

func (s *writeScript) next(n int) []byte {
	p := s.data[s.used : s.used+n]
	s.used += n
	return bytes.Clone(p)
}

func (s *writeScript) wrap(n int) mem.Buf {
	s.given++
	p := s.next(n)
	return mem.Wrap(p, func() {
		s.back++
		clear(p)
	})
}

// idle fails the test when the writer holds anything.
func (s *writeScript) idle(t *testing.T) {
	t.Helper()
	if s.back != s.given || holds(s.a) != 0 || s.w.Buffered() != 0 {
		t.Fatalf("%d of %d Bufs came back, %d blocks are held, %d bytes wait", s.back, s.given, holds(s.a), s.w.Buffered())
	}
}

func TestErrorIsStickyAndLosesTrackOfNothing(t *testing.T) {
	a := paranoid(t)
	var whole bytes.Buffer
	s := newWriteScript(writerOf(t, a, 0, struct{ io.Writer }{&whole}), a)
	for i, step := range s.steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	s.idle(t)
	total := s.used
	if !bytes.Equal(whole.Bytes(), s.data[:total]) {
		t.Fatal("other bytes arrived")
	}

	apart := 1500
	if sys.Race {
		apart = 6000
	}
	rng := rand.New(rand.NewPCG(sluicetest.Seed(t), 2))
	for _, reason := range []error{errSink, nil} {
		want := reason
		if reason == nil {
			want = io.ErrShortWrite
		}
		for k := 0; k < total; k += 1 + rng.IntN(apart) {
			out := &limited{left: k, err: reason}
			s := newWriteScript(writerOf(t, a, 0, out), a)
			var first error
			var before int64
			for i, step := range s.steps {
				err := step()
				if first != nil {
					if err != first {
						t.Fatalf("after %d bytes: step %d: %v, not the error of before, %v", k, i, err, first)
					}
					s.idle(t)
					continue
				}
				if err == nil {
					before = sluice.WrittenBy(s.w)
					continue
				}
				first = err
				var e *sluice.Error
				if !errors.As(err, &e) || !errors.Is(err, want) {
					t.Fatalf("after %d bytes: step %d: %v, want %v", k, i, err, want)
				}
				if e.Done < 0 || e.Done >= sluice.LimitOf(e) || sluice.WrittenBy(s.w)-before < e.Done {
					t.Fatalf("after %d bytes: Done %d of %d, written %d after %d", k, e.Done, sluice.LimitOf(e), sluice.WrittenBy(s.w), before)
				}
				s.idle(t)
			}
			if first == nil {
				t.Fatalf("no error although the sink took %d bytes of %d", k, total)
			}
			if sluice.WrittenBy(s.w) != int64(k) || !bytes.Equal(out.Bytes(), s.data[:k]) {
				t.Fatalf("the sink has %d bytes, the writer says %d, want %d, or they are others", out.Len(), sluice.WrittenBy(s.w), k)
			}
		}
	}
}

func TestEverythingComesBackOnRecycleAndReset(t *testing.T) {
	a := paranoid(t)
	for _, end := range []struct {
		name string
		call func(*sluice.BufWriter)
	}{
		{"Recycle", func(w *sluice.BufWriter) { w.Recycle(); w.Recycle() }},
		{"Reset", func(w *sluice.BufWriter) { w.Reset(nil) }},
	} {
		for at := 0; ; at++ {
			s := newWriteScript(writerOf(t, a, 0, io.Discard), a)
			if at > len(s.steps) {
				break
			}
			for i, step := range s.steps {
				if i == at {
					end.call(s.w)
					s.idle(t)
				}
				if err := step(); (i >= at) != errors.Is(err, sluice.ErrClosed) {
					t.Fatalf("%s before step %d: step %d: %v", end.name, at, i, err)
				}
			}
			end.call(s.w)
			s.idle(t)
		}
	}
}

func TestWriterWithoutSinkIsClosed(t *testing.T) {
	var w sluice.BufWriter
	if _, err := w.Write([]byte{1}); err != sluice.ErrClosed {
		t.Errorf("Write to the zero BufWriter: %v", err)
	}
	if err := w.SetTimeout(time.Second); err != sluice.ErrClosed {
		t.Errorf("SetTimeout of the zero BufWriter: %v", err)
	}
	var out bytes.Buffer
	w.Reset(&out)
	if err := errors.Join(w.WriteByte('x'), w.Flush()); err != nil || out.String() != "x" {
		t.Errorf("after Reset: %q, %v", out.String(), err)
	}
}

func TestWriteReturnsWhatWentOutOfItsOwnBytes(t *testing.T) {
	for k := 0; k <= 10_030; k += 37 {
		out := &limited{left: k, err: errSink}
		w := writerOf(t, paranoid(t), 0, out)
		if _, err := w.Write(make([]byte, 30)); err != nil {
			t.Fatal(err)
		}
		n, err := w.Write(make([]byte, 10_000))
		if want := max(0, k-30); n != want || !errors.Is(err, errSink) {
			t.Errorf("Write: %d, %v after the sink took %d; want %d", n, err, k, want)
		}
	}
}

type liar int

func (l liar) Write(p []byte) (int, error) { return len(p) + int(l), nil }

// net.Buffers.WriteTo eats a Memory's Buffers, which callers must not give it. Bytes that are
// missing then are not taken for sent.
func TestMemoryThatWasEatenIsNotTakenForSent(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the checks find it before")
	}
	near, far := tcpPair(t)
	defer far.Close()
	for name, below := range map[string]io.Writer{"gathers": near, "one by one": io.Discard} {
		w := sluice.NewBufWriter(below)
		m := mem.NewMemory(mem.Wrap([]byte("first"), nil), mem.Wrap([]byte("second"), nil))
		if _, err := (*net.Buffers)(&m.Buffers).WriteTo(io.Discard); err != nil {
			t.Fatal(err)
		}
		err := errors.Join(w.WriteMemory(m), w.Flush())
		var failed *sluice.Error
		if !errors.Is(err, io.ErrShortWrite) || !errors.As(err, &failed) || failed.Done != 0 {
			t.Errorf("%s: %v", name, err)
		}
		w.Recycle()
	}
}

func TestWriterThatTakesWhatItWasNotGivenPanics(t *testing.T) {
	for _, l := range []liar{1, -1000} {
		w := sluice.NewBufWriter(l)
		_, _ = w.WriteString("four")
		if text := panicOf(func() { _ = w.Flush() }); !strings.HasPrefix(text, "sluice: ") {
			t.Errorf("Flush to a writer that returns %d for 4 bytes: panic %q", 4+l, text)
		}
	}
}

func TestWrongCountsPanic(t *testing.T) {
	w := sluice.NewBufWriter(io.Discard)
	for _, f := range []func(){
		func() { _ = w.WriteFrame(-1, binary.BigEndian, mem.Wrap(nil, nil)) },
		func() { _ = w.WriteFrame(5, binary.BigEndian, mem.Wrap(nil, nil)) },
		func() { _ = w.WriteFrame(2, nil, mem.Wrap(nil, nil)) },
		func() { _ = w.SetTimeout(-1) },
	} {
		if text := panicOf(f); !strings.HasPrefix(text, "sluice: BufWriter.") {
			t.Errorf("panic %q", text)
		}
	}
}

// A peer that does not read lets a part through, which the error counts.
func TestDeadlineSaysHowMuchWentOut(t *testing.T) {
	for _, c := range []struct {
		name string
		pair func(testing.TB) (near, far net.Conn)
	}{
		{"tcp", func(t testing.TB) (net.Conn, net.Conn) { return tcpPair(t) }},
		{"unix", func(t testing.TB) (net.Conn, net.Conn) { return unixPair(t) }},
		{"pipe", pipePair},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := paranoid(t)
			near, far := c.pair(t)
			w := writerOf(t, a, 1<<20, near)
			if err := w.SetTimeout(time.Millisecond); err != nil {
				t.Fatal(err)
			}
			data := testData(200_000)
			var want []byte
			var before int64
			var err error
			for err == nil {
				before = sluice.WrittenBy(w)
				b := a.Get(len(data))
				copy(b.Bytes(), data)
				want = append(append(want, data[:10]...), data...)
				if _, err := w.Write(data[:10]); err != nil {
					t.Fatal(err)
				}
				if err := w.WriteBuf(b); err != nil {
					t.Fatal(err)
				}
				err = w.Flush()
			}
			var e *sluice.Error
			if !errors.As(err, &e) || !errors.Is(err, os.ErrDeadlineExceeded) || !e.Timeout() || sluice.OpOf(e) != "Flush" {
				t.Fatalf("%v", err)
			}
			if sluice.LimitOf(e) != 200_010 || e.Done != sluice.WrittenBy(w)-before || e.Done >= sluice.LimitOf(e) {
				t.Errorf("Done %d of %d, written %d, %d before", e.Done, sluice.LimitOf(e), sluice.WrittenBy(w), before)
			}
			if holds(a) != 0 {
				t.Errorf("%d blocks are held after the error", holds(a))
			}
			if again := w.Flush(); again != err {
				t.Errorf("a second Flush: %v", again)
			}
			_ = near.Close()
			got, rerr := io.ReadAll(far)
			if rerr != nil || int64(len(got)) != sluice.WrittenBy(w) || !bytes.Equal(got, want[:len(got)]) {
				t.Errorf("%d bytes arrived, or others; %d went out; %v", len(got), sluice.WrittenBy(w), rerr)
			}
		})
	}
}

// deadlines is a connection that notes what is done with its write deadline.
type deadlines struct {
	net.Conn
	calls []string
}

func (d *deadlines) Write(p []byte) (int, error) {
	d.calls = append(d.calls, fmt.Sprintf("write %d", len(p)))
	return len(p), nil
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	if at.IsZero() {
		d.calls = append(d.calls, "clear")
	} else {
		d.calls = append(d.calls, "set")
	}
	return nil
}

func TestEachFlushHasADeadlineOfItsOwn(t *testing.T) {
	d := &deadlines{}
	w := writerOf(t, paranoid(t), 0, d)
	flush := func(n int) {
		t.Helper()
		if _, err := w.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	flush(1)
	if err := w.SetTimeout(time.Hour); err != nil {
		t.Fatal(err)
	}
	flush(2)
	flush(0)
	flush(3)
	flush(20_000)
	if err := w.SetTimeout(0); err != nil {
		t.Fatal(err)
	}
	flush(4)
	want := "write 1, clear, set, write 2, set, write 3, set, write 20000, clear, write 4"
	if got := strings.Join(d.calls, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if err := sluice.NewBufWriter(io.Discard).SetTimeout(time.Second); err != os.ErrNoDeadline {
		t.Errorf("SetTimeout of a writer without deadlines: %v", err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f := writerOf(t, paranoid(t), 0, file)
	if err := f.SetTimeout(time.Second); !errors.Is(err, os.ErrNoDeadline) {
		t.Errorf("SetTimeout of a writer to a file: %v", err)
	}
	if _, err := f.WriteString("x"); err != nil {
		t.Error(err)
	}
	if err := f.Flush(); err != nil {
		t.Errorf("after a timeout was refused: %v", err)
	}
}

func TestCloseByAnotherGoroutineEndsFlush(t *testing.T) {
	a := paranoid(t)
	near, far := tcpPair(t)
	w := writerOf(t, a, 1<<30, near)
	for range 64 { // more than both ends' socket buffers take
		if err := w.WriteBuf(a.Get(1 << 20)); err != nil {
			t.Fatal(err)
		}
	}
	goTest(t, func() {
		_, _ = far.Read(make([]byte, 1)) // Flush has begun
		_ = near.Close()
	})
	t.Cleanup(func() { _ = far.Close() })
	var err error
	within(t, "Flush", func() { err = w.Flush() })
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
	if holds(a) != 0 {
		t.Errorf("%d blocks are held", holds(a))
	}
}
