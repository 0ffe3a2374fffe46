package sluice_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// fileOf returns an open file of data.
func fileOf(t testing.TB, data []byte) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// What was buffered, what is read from r, and what is written afterwards
// arrive in this order, whether the kernel moves bytes or the writer copies.
func TestReadFromKeepsTheOrder(t *testing.T) {
	data := testData(300_000)
	sources := []struct {
		name string
		n    int  // bytes that it has
		fast bool // the kernel can move them to a TCP connection
		open func(t testing.TB) io.Reader
	}{
		{"file", len(data), true, func(t testing.TB) io.Reader { return fileOf(t, data) }},
		{"part of a file", 123_456, true, func(t testing.TB) io.Reader { return io.LimitReader(fileOf(t, data), 123_456) }},
		{"tcp", len(data), true, func(t testing.TB) io.Reader {
			near, far := tcpPair(t)
			send(t, far, data, every(10_000))
			return near
		}},
		{"unix", len(data), true, func(t testing.TB) io.Reader {
			near, far := unixPair(t)
			send(t, far, data, every(10_000))
			return near
		}},
		{"pipe", len(data), false, func(t testing.TB) io.Reader {
			near, far := pipePair(t)
			send(t, far, data, every(10_000))
			return near
		}},
		{"bytes", len(data), false, func(testing.TB) io.Reader { return bytes.NewReader(data) }},
		{"nothing", 0, false, func(testing.TB) io.Reader { return bytes.NewReader(nil) }},
		{"data with EOF", len(data), false, func(testing.TB) io.Reader { return iotest.DataErrReader(bytes.NewReader(data)) }},
	}
	for _, s := range sinks() {
		for _, src := range sources {
			for _, timeout := range []time.Duration{0, time.Minute} {
				t.Run(fmt.Sprintf("%s to %s, timeout %v", src.name, s.name, timeout), func(t *testing.T) {
					out, end := s.open(t)
					a := paranoid(t)
					w := writerOf(t, a, 0, out)
					if timeout > 0 && w.SetTimeout(timeout) != nil {
						t.Skip("no deadlines")
					}
					_, _ = w.WriteString("before")
					_ = w.WriteBuf(mem.Wrap(data[:2000:2000], nil))
					if _, tcp := out.(*net.TCPConn); tcp && src.fast && timeout == 0 {
						// All goes out with Flush, after which no block is needed.
						if err := w.Flush(); err != nil {
							t.Fatal(err)
						}
						before := taken(a)
						defer func() {
							if got := taken(a) - before; got != 1 {
								t.Errorf("%d blocks were taken, want that for the last bytes only", got)
							}
						}()
					}
					n, err := w.ReadFrom(src.open(t))
					if n != int64(src.n) || err != nil {
						t.Fatalf("ReadFrom: %d, %v", n, err)
					}
					_, _ = w.WriteString("after")
					if got, want := sluice.WrittenBy(w)+int64(w.Buffered()), int64(src.n)+2011; got != want {
						t.Errorf("%d bytes went out or wait, want %d", got, want)
					}
					if err := w.Flush(); err != nil {
						t.Fatal(err)
					}
					if n := holds(a); n != 0 {
						t.Errorf("%d blocks are held after Flush", n)
					}
					want := append(append(append([]byte("before"), data[:2000]...), data[:src.n]...), "after"...)
					if got := end(); !bytes.Equal(got, want) {
						t.Errorf("%d bytes arrived, want %d, or others", len(got), len(want))
					}
				})
			}
		}
	}
}

func TestReadFromOverEveryChunking(t *testing.T) {
	data := testData(20_000)
	for _, bound := range []int{0, 300} {
		for name, src := range sluicetest.Chunkings(data) {
			var out bytes.Buffer
			w := writerOf(t, paranoid(t), bound, &out)
			n, err := w.ReadFrom(src)
			if err := errors.Join(err, w.Flush()); err != nil || n != int64(len(data)) || !bytes.Equal(out.Bytes(), data) {
				t.Errorf("%s, Bound %d: %d bytes, %d arrived, %v", name, bound, n, out.Len(), err)
			}
		}
	}
}

func TestReadFromReturnsTheReadersErrorAndKeepsWhatCame(t *testing.T) {
	errSource := errors.New("the source is broken")
	var out bytes.Buffer
	w := writerOf(t, paranoid(t), 0, &out)
	for _, c := range []struct {
		src  io.Reader
		n    int64
		want error
	}{
		{iotest.DataErrReader(io.MultiReader(bytes.NewReader(testData(9000)), iotest.ErrReader(errSource))), 9000, errSource},
		{iotest.ErrReader(errSource), 0, errSource},
		{io.MultiReader(bytes.NewReader(testData(70_000)), iotest.ErrReader(io.ErrUnexpectedEOF)), 70_000, io.ErrUnexpectedEOF},
		{emptyReads{}, 0, io.ErrNoProgress},
	} {
		out.Reset()
		if n, err := w.ReadFrom(c.src); n != c.n || err != c.want {
			t.Errorf("ReadFrom: %d, %v; want %d, %v", n, err, c.n, c.want)
		}
		if err := w.Flush(); err != nil || !bytes.Equal(out.Bytes(), testData(int(c.n))) {
			t.Errorf("%d bytes of %d arrived, or others; %v", out.Len(), c.n, err)
		}
	}
}

type emptyReads struct{}

func (emptyReads) Read([]byte) (int, error) { return 0, nil }

func TestReadFromEndsWithTheWritersError(t *testing.T) {
	a := paranoid(t)
	out := &limited{left: 100_000, err: errSink}
	w := writerOf(t, a, 0, out)
	n, err := w.ReadFrom(bytes.NewReader(testData(1 << 20)))
	if !errors.Is(err, errSink) || n < 100_000 || n > 200_000 || sluice.WrittenBy(w) != 100_000 {
		t.Errorf("ReadFrom: %d, %v; %d went out", n, err, sluice.WrittenBy(w))
	}
	if again := w.Flush(); again != err {
		t.Errorf("Flush after it: %v", again)
	}
	if n := holds(a); n != 0 {
		t.Errorf("%d blocks are held", n)
	}
}

func TestReaderThatReturnsMoreThanRoomPanics(t *testing.T) {
	w := writerOf(t, mem.New(mem.Options{}), 0, io.Discard)
	if text := panicOf(func() { _, _ = w.ReadFrom(overfull{}) }); text == "" {
		t.Error("no panic")
	}
}

type overfull struct{}

func (overfull) Read(p []byte) (int, error) { return len(p) + 1, nil }

// io.Copy finds ReadFrom.
func TestCopyIntoWriter(t *testing.T) {
	data := testData(100_000)
	var out bytes.Buffer
	w := writerOf(t, paranoid(t), 0, &out)
	n, err := io.Copy(w, struct{ io.Reader }{bytes.NewReader(data)})
	if err := errors.Join(err, w.Flush()); err != nil || n != int64(len(data)) || !bytes.Equal(out.Bytes(), data) {
		t.Errorf("%d bytes, %d arrived, %v", n, out.Len(), err)
	}
}

// What a reader has goes through a writer without a copy into a buffer of
// io.Copy's.
func TestReaderToWriter(t *testing.T) {
	data := testData(500_000)
	a := paranoid(t)
	var out bytes.Buffer
	w := writerOf(t, a, 0, &out)
	r := readerOf(t, a, 0, bytes.NewReader(data))
	n, err := io.Copy(w, r)
	if err := errors.Join(err, w.Flush()); err != nil || n != int64(len(data)) || !bytes.Equal(out.Bytes(), data) {
		t.Errorf("%d bytes, %d arrived, %v", n, out.Len(), err)
	}
}

var _ io.StringWriter = (*sluice.BufWriter)(nil)

// TestReadFromAReaderThatUsesTheWriter: the caller's mistake. The reader's bytes
// must not go to memory that was given back.
func TestReadFromAReaderThatUsesTheWriter(t *testing.T) {
	const text = "what is read"
	for name, use := range map[string]func(w *sluice.BufWriter){
		"Flush":       func(w *sluice.BufWriter) { _ = w.Flush() },
		"WriteString": func(w *sluice.BufWriter) { _, _ = w.WriteString("x") },
		"Write":       func(w *sluice.BufWriter) { _, _ = w.Write(make([]byte, 10_000)) },
		"WriteByte":   func(w *sluice.BufWriter) { _ = w.WriteByte('x') },
		"WriteBuf":    func(w *sluice.BufWriter) { _ = w.WriteBuf(mem.Wrap([]byte("x"), nil)) },
		"ReadFrom":    func(w *sluice.BufWriter) { _, _ = w.ReadFrom(strings.NewReader("x")) },
		"Reset":       func(w *sluice.BufWriter) { w.Reset(io.Discard) },
		"Recycle":     func(w *sluice.BufWriter) { w.Recycle() },
	} {
		for _, waits := range []string{"", "what waits "} {
			t.Run(name+"/"+waits, func(t *testing.T) {
				a := mem.New(mem.Options{Leak: mem.LeakParanoid})
				var out bytes.Buffer
				w := writerOf(t, a, 0, &out)
				_, _ = w.WriteString(waits)
				before := holds(a)
				wrong := panicOf(func() {
					_, _ = w.ReadFrom(readerFunc(func(p []byte) (int, error) {
						panicked := panicOf(func() { use(w) })
						n := copy(p, text)
						if panicked != "" {
							panic(panicked)
						}
						return n, nil
					}))
				})
				if !strings.HasPrefix(wrong, "sluice: BufWriter was used while") {
					t.Errorf("panic %q", wrong)
				}
				if n := holds(a); n < before {
					t.Errorf("%d blocks are out, before %d", n, before)
				}
				// The writer is good for the next.
				out.Reset()
				w.Reset(&out)
				if n, err := w.ReadFrom(strings.NewReader(text)); n != int64(len(text)) || err != nil {
					t.Errorf("after Reset: %d bytes, %v", n, err)
				}
				if err := w.Flush(); err != nil || out.String() != text {
					t.Errorf("after Reset: %q, %v", out.String(), err)
				}
				w.Recycle()
				a.Trim() // looks for what was written after its release
				if n := holds(a); n != 0 {
					t.Errorf("%d blocks are out", n)
				}
			})
		}
	}
}
