package sluice_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// sendCalls returns how many system calls that write this thread has made, as
// Linux counts them; ok is false where the system does not count them.
func sendCalls() (n int, ok bool) {
	text, err := os.ReadFile("/proc/thread-self/io")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if v, found := strings.CutPrefix(line, "syscw: "); found {
			n, err := strconv.Atoi(strings.TrimSpace(v))
			return n, err == nil
		}
	}
	return 0, false
}

// fewestCalls returns the least number of writing system calls that one of
// several runs of f made: the runtime makes one of its own now and then.
func fewestCalls(t *testing.T, f func()) int {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer null.Close()
	before, ok := sendCalls()
	for range 3 {
		_, _ = null.Write([]byte{1})
	}
	if after, ok2 := sendCalls(); !ok || !ok2 || after != before+3 {
		t.Skip("writing system calls are not counted here")
	}
	fewest := 1 << 30
	for range 20 {
		before, _ := sendCalls()
		f()
		after, _ := sendCalls()
		fewest = min(fewest, after-before)
	}
	return fewest
}

// gathering are the connections that take many pieces in one system call, with
// a peer that reads and forgets.
func gathering(t *testing.T, test func(t *testing.T, c net.Conn)) {
	for _, c := range []struct {
		name string
		pair func(testing.TB) (near, far net.Conn)
	}{
		{"tcp", func(t testing.TB) (net.Conn, net.Conn) { return tcpPair(t) }},
		{"unix", func(t testing.TB) (net.Conn, net.Conn) { return unixPair(t) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			near, far := c.pair(t)
			goTest(t, func() { _, _ = io.Copy(struct{ io.Writer }{io.Discard}, far) })
			t.Cleanup(func() { _ = near.Close() })
			test(t, near)
		})
	}
}

func TestFlushIsOneSystemCall(t *testing.T) {
	gathering(t, func(t *testing.T, c net.Conn) {
		a := mem.New(mem.Options{})
		w := writerOf(t, a, 0, c)
		n := fewestCalls(t, func() {
			for range 5 {
				_, _ = w.WriteString("header")
				_ = w.WriteBuf(a.Get(5000))
				_ = w.WriteMemory(mem.NewMemory(a.Get(700), a.Get(600)))
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		})
		if n != 1 {
			t.Errorf("%d writing system calls for a Flush of 20 pieces", n)
		}
	})
}

func TestFlushIsOneSystemCallForEach1024Pieces(t *testing.T) {
	gathering(t, func(t *testing.T, c net.Conn) {
		w := writerOf(t, mem.New(mem.Options{}), 0, c)
		n := fewestCalls(t, func() {
			list := mem.NewMemory()
			for range 3000 {
				list.Append(mem.Wrap(make([]byte, 2), nil))
			}
			if err := w.WriteMemory(list); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		})
		if n != 3 {
			t.Errorf("%d writing system calls for a Flush of 3000 pieces", n)
		}
	})
}

func TestManyPiecesArriveInOrder(t *testing.T) {
	for _, s := range sinks() {
		t.Run(s.name, func(t *testing.T) {
			a := paranoid(t)
			out, end := s.open(t)
			w := writerOf(t, a, 1<<30, out)
			var want []byte
			for i := range 2500 {
				list := mem.NewMemory()
				for j := range 3 {
					b := a.Get(1 + (i+j)%5)
					for k := range b.Bytes() {
						b.Bytes()[k] = byte(i*7 + j + k)
					}
					want = append(want, b.Bytes()...)
					list.Append(b)
				}
				if err := w.WriteMemory(list); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(end(), want) {
				t.Error("other bytes arrived")
			}
		})
	}
}

func TestLargeWriteGoesOutWithWhatWaitsAndIsNotCopied(t *testing.T) {
	gathering(t, func(t *testing.T, c net.Conn) {
		a := mem.New(mem.Options{})
		w := writerOf(t, a, 0, c)
		p := make([]byte, 20_000)
		n := fewestCalls(t, func() {
			before := taken(a)
			_, _ = w.WriteString("header")
			if n, err := w.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
			if w.Buffered() != 0 || holds(a) != 0 {
				t.Fatalf("%d bytes wait and %d blocks are held after a large Write", w.Buffered(), holds(a))
			}
			// The header's block and no other.
			if got := taken(a) - before; got != 1 {
				t.Fatalf("%d blocks were taken", got)
			}
		})
		if n != 1 {
			t.Errorf("%d writing system calls for what waits and a large Write", n)
		}
	})
}

// taken returns how many blocks of a have been taken so far.
func taken(a *mem.Allocator) int64 {
	s := a.Stats()
	return s.Hits + s.Misses
}

// samePlace notes whether what it is given lies where p does.
type samePlace struct {
	p    []byte
	same bool
}

func (s *samePlace) Write(p []byte) (int, error) {
	s.same = len(p) == len(s.p) && &p[0] == &s.p[0]
	return len(p), nil
}

func TestLongPiecesAreWrittenFromWhereTheyLie(t *testing.T) {
	a := paranoid(t)
	p := make([]byte, 70_000)
	s := &samePlace{p: p}
	w := writerOf(t, a, 0, s)
	if _, err := w.Write(p); err != nil || !s.same {
		t.Errorf("a large Write was copied, or %v", err)
	}
	s.same = false
	w = writerOf(t, a, 1<<20, s)
	if err := w.WriteBuf(mem.Wrap(p, nil)); err != nil || s.same {
		t.Errorf("WriteBuf did not wait for Flush, or %v", err)
	}
	if err := w.Flush(); err != nil || !s.same {
		t.Errorf("a large Buf was copied, or %v", err)
	}
}

// TLS makes a record, and a system call, of each Write.
func TestPiecesAreBroughtTogetherForOtherWriters(t *testing.T) {
	const record = 16 << 10
	for _, size := range []int{1, 300, 1000, 5000, 8000, 8192, 8193, 16383, 16384, 16385, 30_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			a := paranoid(t)
			var r recorder
			w := writerOf(t, a, 1<<30, &r)
			var want []byte
			data := testData(400_000)
			for n := 0; n+size+2 <= len(data) && n/size < 100; n += size + 2 {
				b := a.Get(size)
				copy(b.Bytes(), data[n:])
				list := mem.NewMemory(b)
				if err := w.WriteMemory(list); err != nil {
					t.Fatal(err)
				}
				if err := w.WriteBuf(mem.Wrap(data[n+size:n+size+2], nil)); err != nil {
					t.Fatal(err)
				}
				want = append(want, data[n:n+size+2]...)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(r.all(), want) {
				t.Fatal("other bytes")
			}
			calls := r.lengths()
			if longest := max(record, size); slices.Max(calls) > longest {
				t.Errorf("calls of %v bytes, at most %d", calls, longest)
			}
			for i := range len(calls) - 1 {
				if calls[i]+calls[i+1] <= record {
					t.Errorf("calls of %v bytes: numbers %d and %d would be one record", calls, i, i+1)
				}
			}
		})
	}
}

func TestSmallWritesWaitForFlush(t *testing.T) {
	var r recorder
	w := writerOf(t, paranoid(t), 0, &r)
	for range 1000 {
		_, _ = w.WriteString("0123456789")
	}
	if len(r.calls) != 0 || w.Buffered() != 10_000 {
		t.Errorf("%d calls before Flush, %d bytes wait", len(r.calls), w.Buffered())
	}
	if err := w.Flush(); err != nil || len(r.all()) != 10_000 {
		t.Errorf("%d bytes, %v", len(r.all()), err)
	}
}

func TestWriterFlushesByItselfAtBound(t *testing.T) {
	for _, bound := range []int{1, 100, 256, 5000, 64 << 10, 100_000} {
		var r recorder
		w := writerOf(t, paranoid(t), bound, &r)
		for range bound {
			if err := w.WriteByte('x'); err != nil {
				t.Fatal(err)
			}
		}
		if len(r.calls) != 0 || w.Buffered() != bound {
			t.Errorf("Bound %d: %d calls, %d bytes wait", bound, len(r.calls), w.Buffered())
		}
		if err := w.WriteByte('y'); err != nil || len(r.all()) != bound || w.Buffered() != 1 {
			t.Errorf("Bound %d and a byte: %d bytes went out, %d wait, %v", bound, len(r.all()), w.Buffered(), err)
		}
	}
}

// As with bufio.Writer, a small bound does not cut what is longer.
func TestAWriteLongerThanTheBoundIsOneCall(t *testing.T) {
	for _, bound := range []int{1, 100, 5000} {
		var r recorder
		w := writerOf(t, paranoid(t), bound, &r)
		p := testData(bound + 1)
		_ = w.WriteByte('x')
		if n, err := w.Write(p); n != len(p) || err != nil {
			t.Fatalf("Bound %d: %d, %v", bound, n, err)
		}
		if len(r.calls) != 1 || !bytes.Equal(r.all(), append([]byte{'x'}, p...)) {
			t.Errorf("Bound %d: calls of %v bytes for 1 and %d", bound, r.lengths(), len(p))
		}
	}
}

var _ io.ReaderFrom = (*sluice.BufWriter)(nil)
