package rtpmedia

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A sender of RTSP has packets of a few bytes of one picture, and between them 64 KB that are of no track, or a header
// as long: each packet kept the block that it came in, a gigabyte of which a few KB counted.
func TestTinyPacketsKeepNoBlocks(t *testing.T) {
	const packets, block = 500, 64 << 10
	alloc := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, alloc)
	f := Format{Codec: flv.CodecAVC, PayloadType: 96, Clock: 90_000, Video: true}
	var got []byte
	x := NewCollector(f, alloc, 4<<20, func(s Sample) error {
		got = append(got, s.Packed.Bytes()...)
		s.Packed.Release()
		return nil
	})
	defer x.Close()
	before := alloc.Stats().OutBytes
	for i := range uint16(packets) {
		b := alloc.Get(block)
		p := b.Bytes()[:12+3]
		clear(p)
		p[0], p[1] = 0x80, 96
		if i == packets-1 {
			p[1] |= 0x80
		}
		binary.BigEndian.PutUint16(p[2:], i)
		p[12], p[13], p[14] = 0x41, byte(i>>8), byte(i) // a slice
		packet := b.RetainedSlice(0, len(p))
		b.Release()
		if err := x.Push(packet, time.Now()); err != nil {
			t.Fatal(err)
		}
		if kept := alloc.Stats().OutBytes - before; kept > 2<<20 {
			t.Fatalf("%d packets keep %d bytes", i+1, kept)
		}
	}
	if want := 4 + 3; len(got) < packets*want {
		t.Fatalf("a picture of %d bytes", len(got))
	}
	got = got[len(got)-packets*7:]
	for i := range packets {
		if n := int(binary.BigEndian.Uint16(got[7*i+5:])); n != i {
			t.Fatalf("slice %d is the one numbered %d", i, n)
		}
	}
}
