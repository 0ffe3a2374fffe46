package mem_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

var _ io.WriterTo = (*mem.Memory)(nil)

// pair returns the two ends of a loopback TCP connection.
func pair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	near, far = c.(*net.TCPConn), (<-accepted).(*net.TCPConn)
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// numbered makes a Memory of n parts that differ.
func numbered(n int) (m *mem.Memory, whole []byte) {
	m = mem.NewMemory()
	for i := range n {
		p := bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 1+i%7)
		whole = append(whole, p...)
		m.Append(mem.Wrap(p, nil))
	}
	return m, whole
}

func TestWriteToLeavesTheMemoryAsItWas(t *testing.T) {
	near, far := pair(t)
	for _, n := range []int{0, 1, 2, 5, 1500, 3000} { // one writev takes 1024 parts
		m, whole := numbered(n)
		before := slices.Clone(m.Buffers)
		for _, w := range []io.Writer{near, new(bytes.Buffer), struct{ io.Writer }{near}} {
			for range 2 {
				k, err := m.WriteTo(w)
				if k != int64(len(whole)) || err != nil {
					t.Fatalf("%d parts to %T: %d of %d bytes, %v", n, w, k, len(whole), err)
				}
			}
			got := make([]byte, 2*len(whole))
			if b, ok := w.(*bytes.Buffer); ok {
				copy(got, b.Bytes())
			} else if _, err := io.ReadFull(far, got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, append(whole[:len(whole):len(whole)], whole...)) {
				t.Fatalf("%d parts to %T: other bytes", n, w)
			}
			if len(m.Buffers) != n || m.Size != len(whole) {
				t.Fatalf("%d parts to %T: the Memory has %d parts and %d bytes afterwards", n, w, len(m.Buffers), m.Size)
			}
			for i := range before {
				if &m.Buffers[i][0] != &before[i][0] || len(m.Buffers[i]) != len(before[i]) {
					t.Fatalf("%d parts to %T: part %d is another afterwards", n, w, i)
				}
			}
		}
		m.Release()
	}
}

// upper changes what is written, as a TLS or a counting connection does.
type upper struct {
	*net.TCPConn
	writes int
}

func (u *upper) Write(p []byte) (int, error) {
	u.writes++
	return u.TCPConn.Write(bytes.ToUpper(p))
}

func TestWriteToGoesThroughAWrappersWrite(t *testing.T) {
	near, far := pair(t)
	u := &upper{TCPConn: near}
	m := split([]byte("abcdef"), 2, 4)
	if n, err := m.WriteTo(u); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	got := make([]byte, 6)
	if _, err := io.ReadFull(far, got); err != nil {
		t.Fatal(err)
	}
	if string(got) != "ABCDEF" || u.writes != 3 {
		t.Errorf("%q came in %d writes: WriteTo passed by the wrapper", got, u.writes)
	}
}

// limited takes some bytes and then fails, or is just short.
type limited struct {
	left int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if n < len(p) {
		return n, l.err
	}
	return n, nil
}

func TestWriteToSaysHowFarItCame(t *testing.T) {
	broken := errors.New("broken")
	for room := range 6 {
		for _, err := range []error{broken, nil} {
			want := err
			if err == nil {
				want = io.ErrShortWrite
			}
			m := split([]byte("abcdef"), 1, 4)
			n, got := m.WriteTo(&limited{room, err})
			if n != int64(room) || got != want {
				t.Errorf("a writer that takes %d bytes: %d, %v, want %v", room, n, got, want)
			}
			if string(m.Bytes()) != "abcdef" {
				t.Error("a failed WriteTo changed the Memory")
			}
		}
	}
	near, _ := pair(t)
	near.Close()
	m := split([]byte("abcdef"), 1, 4)
	if n, err := m.WriteTo(near); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("WriteTo of a closed connection: %d, %v", n, err)
	}
	if string(m.Bytes()) != "abcdef" {
		t.Error("a failed gathered WriteTo changed the Memory")
	}
}

type lying struct{ n int }

func (l lying) Write([]byte) (int, error) { return l.n, nil }

func TestWriteToDistrustsWriters(t *testing.T) {
	for _, n := range []int{-1, 7} {
		mustPanic(t, "WriteTo of a lying writer", func() { split([]byte("abcdef")).WriteTo(lying{n}) }, "mem: Memory.WriteTo: writer returned ", " of 6 bytes")
	}
}

func TestWriteToAllocatesNothing(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("allocations are not counted in this build")
	}
	steady(t)
	near, far := pair(t)
	drained := make(chan error, 1)
	go func() {
		p := make([]byte, 64<<10)
		for {
			if _, err := far.Read(p); err != nil {
				drained <- err
				return
			}
		}
	}()
	for _, n := range []int{1, 2, 100} {
		m, _ := numbered(n)
		for name, w := range map[string]io.Writer{"tcp": near, "discard": io.Discard} {
			allocs := testing.AllocsPerRun(100, func() {
				if _, err := m.WriteTo(w); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%d parts to %s: %v allocations", n, name, allocs)
			}
		}
	}
	near.Close()
	if err := <-drained; err != io.EOF && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
}

// The caller's mistake: the writer must not be left with bytes of another owner.
func TestMemoryStaysUnderAWriteTo(t *testing.T) {
	for name, call := range map[string]func(m *mem.Memory){
		"Release": func(m *mem.Memory) { m.Release() },
		"Compact": func(m *mem.Memory) { m.Compact() },
		"ClipFront": func(m *mem.Memory) {
			r := m.NewReader()
			_ = r.Skip(1)
			r.ClipFront()
		},
	} {
		for _, parts := range []int{1, 3} {
			a := mem.New(mem.Options{})
			m := mem.NewMemory()
			for range parts {
				b := a.Get(64 << 10)
				part := b.RetainedSlice(0, 1000) // Compact moves it
				b.Release()
				copy(part.Bytes(), bytes.Repeat([]byte("A"), 1000))
				m.Append(part)
			}
			n, err := m.WriteTo(writerFunc(func(p []byte) (int, error) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() {
						if text, _ := recover().(string); !strings.HasPrefix(text, "mem: Memory."+name+" during a WriteTo") {
							t.Errorf("%s: panic %q", name, text)
						}
					}()
					call(m)
				}()
				<-done
				b := a.Get(64 << 10)
				copy(b.Bytes(), bytes.Repeat([]byte("B"), 1000))
				if bytes.Count(p, []byte("A")) != len(p) {
					t.Errorf("%s: bytes of another owner are written", name)
				}
				b.Release()
				return len(p), nil
			}))
			if n != int64(1000*parts) || err != nil {
				t.Errorf("%s: %d bytes, %v", name, n, err)
			}
			call(m) // afterwards it may
			if name != "Release" {
				m.Release()
			}
			if out := a.Stats().CheckedOut; out != 0 {
				t.Errorf("%s: %d blocks are held", name, out)
			}
		}
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
