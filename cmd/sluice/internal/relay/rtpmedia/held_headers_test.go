package rtpmedia

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Packets wait for one before them. A header of 64 KB with extensions of a byte each took a megabyte with each, of which
// nothing counted.
func TestHeadersOfPacketsThatWaitTakeLittle(t *testing.T) {
	const extension = 60_000
	alloc := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, alloc)
	f := Format{Codec: flv.CodecAVC, PayloadType: 96, Clock: 90_000, Video: true}
	x := NewCollector(f, alloc, 4<<20, func(s Sample) error {
		s.Packed.Release()
		return nil
	})
	defer x.Close()
	push := func(number uint16) {
		b := alloc.Get(12 + 4 + extension + 1)
		p := b.Bytes()
		clear(p)
		p[0], p[1] = 0x90, 96
		binary.BigEndian.PutUint16(p[2:], number)
		binary.BigEndian.PutUint16(p[12:], 0xBEDE)
		binary.BigEndian.PutUint16(p[14:], extension/4)
		for i := 0; i < extension; i += 2 {
			p[16+i] = 0x10 // of one byte
		}
		p[16+extension] = 0x41
		if err := x.Push(b, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	push(0)
	before := heap()
	const packets = 10
	for i := range uint16(packets) {
		push(2 + i)
	}
	if x.order.waiting != packets {
		t.Fatalf("%d packets wait", x.order.waiting)
	}
	if grown := heap() - before; grown > packets*256<<10 {
		t.Errorf("%d packets of 60 KB take %d bytes", packets, grown)
	}
}
