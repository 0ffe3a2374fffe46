package sluice_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// endless is a reader of so many bytes that never ends twice.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	e.left -= n
	return n, nil
}

func TestWritingAllocatesNothingInSteadyState(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("allocations are counted in plain builds only")
	}
	pair := map[string]func(testing.TB) (near, far net.Conn){
		"tcp":  func(t testing.TB) (net.Conn, net.Conn) { return tcpPair(t) },
		"pipe": pipePair,
	}
	for name, open := range pair {
		near, far := open(t)
		goTest(t, func() {
			p := make([]byte, 64<<10)
			for {
				if _, err := far.Read(p); err != nil {
					return
				}
			}
		})
		t.Cleanup(func() { _ = near.Close() })
		a := mem.New(mem.Options{})
		w := writerOf(t, a, 0, near)
		small, large := make([]byte, 100), make([]byte, 20_000)
		src := &endless{}
		for _, c := range []struct {
			name string
			call func()
		}{
			{"WriteByte", func() { _ = w.WriteByte(1) }},
			{"WriteString", func() { _, _ = w.WriteString("some bytes") }},
			{"small WriteFrame", func() { _ = w.WriteFrame(3, binary.BigEndian, a.Get(100)) }},
			{"WriteFrame", func() { _ = w.WriteFrame(4, binary.LittleEndian, a.Get(5000)) }},
			{"WriteFrame with a varint", func() { _ = w.WriteFrame(0, nil, a.Get(5000)) }},
			{"small Write", func() { _, _ = w.Write(small) }},
			{"large Write", func() { _, _ = w.Write(small); _, _ = w.Write(large) }},
			{"small WriteBuf", func() { _ = w.WriteBuf(a.Get(100)) }},
			{"WriteBuf", func() { _, _ = w.Write(small); _ = w.WriteBuf(a.Get(5000)) }},
			{"ReadFrom", func() { src.left = 5000; _, _ = w.ReadFrom(src) }},
			{"forty pieces", func() {
				for range 20 {
					_ = w.WriteByte(1)
					_ = w.WriteBuf(a.Get(5000))
				}
			}},
			{"a bound of the shortest pieces", func() {
				for range 32 {
					_ = w.WriteByte(1)
					_ = w.WriteBuf(a.Get(4096))
				}
			}},
		} {
			f := func() {
				c.call()
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			for range 10 {
				f()
			}
			if n := testing.AllocsPerRun(300, f); n != 0 {
				t.Errorf("%s: %s and Flush: %v allocations", name, c.name, n)
			}
		}
	}
}

// One Memory is one allocation, and the caller's.
func TestWriteMemoryAllocatesNothingItself(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("allocations are counted in plain builds only")
	}
	a := mem.New(mem.Options{})
	w := writerOf(t, a, 0, io.Discard)
	n := testing.AllocsPerRun(300, func() {
		_ = w.WriteMemory(mem.NewMemory(a.Get(1000)))
		_ = w.Flush()
	})
	if n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func TestBlockGrowsWithTheStreamAndShrinks(t *testing.T) {
	a := mem.New(mem.Options{})
	w := writerOf(t, a, 0, io.Discard)
	largest := func() int64 {
		if s := a.Stats(); s.CheckedOut > 1 {
			t.Fatalf("%d blocks are out: which of them is the writer's?", s.CheckedOut)
		}
		return a.Stats().OutBytes
	}
	_ = w.WriteByte(1)
	if n := largest(); n > 4<<10 {
		t.Errorf("a block of %d bytes for the first byte", n)
	}
	for range 200_000 {
		_ = w.WriteByte(1)
	}
	if n := largest(); n != 64<<10 {
		t.Errorf("blocks of %d bytes in a flood", n)
	}
	for range 20 {
		_ = w.Flush()
		_ = w.WriteByte(1)
	}
	if n := largest(); n > 4<<10 {
		t.Errorf("a block of %d bytes after the flood", n)
	}
}
