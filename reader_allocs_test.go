package sluice_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// cycle is a source that repeats data for ever, in pieces of changing length.
type cycle struct {
	data []byte
	at   int
	turn uint
}

func (c *cycle) Read(p []byte) (int, error) {
	c.turn = c.turn*1103515245 + 12345
	n := copy(p[:min(len(p), 1+int(c.turn>>8%8000))], c.data[c.at:])
	if c.at += n; c.at == len(c.data) {
		c.at = 0
	}
	return n, nil
}

// frameCycle are frames of 4 bytes of length and 300 bytes, each beginning
// with a line.
func frameCycle() *cycle {
	frame := append([]byte{0, 0, 1, 44}, bytes.Repeat([]byte("a line of text, 20\r\n"), 15)...)
	return &cycle{data: bytes.Repeat(frame, 100)}
}

// readFrame reads the length of a frame, and says what is wrong with it.
func readFrame(t *testing.T, r *sluice.BufReader) int {
	n, err := r.ReadBE32(4)
	if err != nil || n != 300 {
		t.Fatalf("a frame of %d bytes, %v", n, err)
	}
	return int(n)
}

// steady are the calls that allocate nothing, each on one frame.
var steady = []struct {
	name string
	most float64
	call func(t *testing.T, r *sluice.BufReader) error
}{
	{"Next", 0, func(t *testing.T, r *sluice.BufReader) error {
		_, err := r.Next(readFrame(t, r))
		return err
	}},
	{"View and Advance", 0, func(t *testing.T, r *sluice.BufReader) error {
		n := readFrame(t, r)
		for n > 0 {
			if _, err := r.Peek(1); err != nil {
				return err
			}
			k := min(n, len(r.View()))
			_ = r.Skip(k)
			n -= k
		}
		return nil
	}},
	{"ReadBuf and Release", 0, func(t *testing.T, r *sluice.BufReader) error {
		b, err := r.ReadBuf(readFrame(t, r))
		if err == nil {
			b.Release()
		}
		return err
	}},
	{"ReadFrame", 0, func(t *testing.T, r *sluice.BufReader) error {
		b, err := r.ReadFrame(4, binary.BigEndian, 1000)
		if err != nil || b.Len() != 300 {
			t.Fatalf("a frame of %d bytes, %v", b.Len(), err)
		}
		b.Release()
		return nil
	}},
	{"ReadFrame of nothing and by 2 bytes", 0, func(t *testing.T, r *sluice.BufReader) error {
		// The first two bytes are 0: two frames of nothing.
		for range 2 {
			b, err := r.ReadFrame(1, nil, 0)
			if err != nil || b.Len() != 0 {
				t.Fatalf("a frame of %d bytes, %v", b.Len(), err)
			}
			b.Release()
		}
		b, err := r.ReadFrame(2, binary.BigEndian, 0)
		if err != nil || b.Len() != 300 {
			t.Fatalf("a frame of %d bytes, %v", b.Len(), err)
		}
		b.Release()
		return nil
	}},
	{"ReadBuf and three keepers", 0, func(t *testing.T, r *sluice.BufReader) error {
		b, err := r.ReadBuf(readFrame(t, r))
		if err != nil {
			return err
		}
		var keepers [3]mem.Buf
		b.Share(keepers[:])
		b.Release()
		for i := range keepers {
			keepers[i].Release()
		}
		return nil
	}},
	{"ReadBytes and Release", 1, func(t *testing.T, r *sluice.BufReader) error {
		m, err := r.ReadBytes(readFrame(t, r))
		if err == nil {
			m.Release()
		}
		return err
	}},
	{"ReadRange", 0, func(t *testing.T, r *sluice.BufReader) error {
		return r.ReadRange(readFrame(t, r), countBytes)
	}},
	{"ReadLineSlice", 0, func(t *testing.T, r *sluice.BufReader) error {
		readFrame(t, r)
		for range 15 {
			if _, err := r.ReadLineSlice(); err != nil {
				return err
			}
		}
		return nil
	}},
	{"ReadSlice", 0, func(t *testing.T, r *sluice.BufReader) error {
		readFrame(t, r)
		for range 15 {
			if _, err := r.ReadSlice('\n'); err != nil {
				return err
			}
		}
		return nil
	}},
	{"Skip", 0, func(t *testing.T, r *sluice.BufReader) error { return r.Skip(readFrame(t, r)) }},
	{"Peek and Discard", 0, func(t *testing.T, r *sluice.BufReader) error {
		n := readFrame(t, r)
		if _, err := r.Peek(n); err != nil {
			return err
		}
		_, err := r.Discard(n)
		return err
	}},
	{"Read", 0, func(t *testing.T, r *sluice.BufReader) error {
		_, err := io.ReadFull(r, scratch[:readFrame(t, r)])
		return err
	}},
	{"ReadByte and UnreadByte", 0, func(t *testing.T, r *sluice.BufReader) error {
		for range readFrame(t, r) {
			if _, err := r.ReadByte(); err != nil {
				return err
			}
			if err := r.UnreadByte(); err != nil {
				return err
			}
			if _, err := r.ReadByte(); err != nil {
				return err
			}
		}
		return nil
	}},
	{"Mark and Rollback", 0, func(t *testing.T, r *sluice.BufReader) error {
		r.Mark()
		if err := r.Skip(readFrame(t, r)); err != nil {
			return err
		}
		r.Rollback()
		return r.Skip(readFrame(t, r))
	}},
}

var (
	scratch [300]byte
	counted int
)

func countBytes(p []byte) { counted += len(p) }

func skipAllocations(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("sync.Pool drops at random under the race detector, and checks allocate")
	}
}

func TestSteadyReadingAllocatesNothing(t *testing.T) {
	skipAllocations(t)
	sources := []struct {
		name string
		open func(t *testing.T) io.Reader
	}{
		{"reader", func(*testing.T) io.Reader { return frameCycle() }},
		{"tcp", func(t *testing.T) io.Reader { near, far := tcpPair(t); return pumped(t, near, far) }},
		{"unix", func(t *testing.T) io.Reader { near, far := unixPair(t); return pumped(t, near, far) }},
	}
	for _, s := range sources {
		for _, c := range steady {
			t.Run(s.name+"/"+c.name, func(t *testing.T) {
				r := readerOf(t, mem.New(mem.Options{}), 0, s.open(t))
				for range 500 {
					if err := c.call(t, r); err != nil {
						t.Fatal(err)
					}
				}
				got := testing.AllocsPerRun(2000, func() {
					if err := c.call(t, r); err != nil {
						t.Fatal(err)
					}
				})
				if got > c.most {
					t.Errorf("%v allocations for each frame, at most %v", got, c.most)
				}
			})
		}
	}
}

// pumped writes frames to far until a write fails.
func pumped(t *testing.T, near, far io.ReadWriteCloser) io.Reader {
	data := frameCycle().data
	goTest(t, func() {
		for {
			if _, err := far.Write(data); err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		_ = near.Close()
		_ = far.Close()
	})
	return near
}

func TestAMillionFramesCauseNoCollection(t *testing.T) {
	skipAllocations(t)
	for _, c := range steady {
		if c.most > 0 || c.name == "ReadByte and UnreadByte" {
			continue
		}
		r := readerOf(t, mem.New(mem.Options{}), 0, frameCycle())
		for range 500 {
			if err := c.call(t, r); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100_000 {
			if err := c.call(t, r); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		if n := after.NumGC - before.NumGC; n != 0 {
			t.Errorf("%s: %d collections, %d allocations", c.name, n, after.Mallocs-before.Mallocs)
		}
	}
}

// A server that keeps readers with limits of its own in a pool sees the end of
// a stream as often as it sees a stream.
func TestTheEndOfAStreamAllocatesNothing(t *testing.T) {
	skipAllocations(t)
	src := new(bytes.Reader)
	r := sluice.NewBufReader(src, sluice.Options{Allocator: mem.New(mem.Options{}), Line: 1 << 10})
	defer r.Recycle()
	message := []byte("a whole message")
	got := testing.AllocsPerRun(1000, func() {
		src.Reset(message)
		r.Reset(src)
		if p, err := r.Next(len(message)); err != nil || !bytes.Equal(p, message) {
			t.Fatalf("%q, %v", p, err)
		}
		if _, err := r.Next(1); err != io.EOF {
			t.Fatalf("behind the end: %v", err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations for each stream", got)
	}
}
