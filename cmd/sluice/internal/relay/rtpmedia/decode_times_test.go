package rtpmedia

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// bitString writes fields of a parameter set.
type bitString struct {
	bytes []byte
	free  int // bits in the last byte
}

func (b *bitString) bits(v uint64, n int) {
	for i := n - 1; i >= 0; i-- {
		if b.free == 0 {
			b.bytes, b.free = append(b.bytes, 0), 8
		}
		b.free--
		b.bytes[len(b.bytes)-1] |= byte(v>>i&1) << b.free
	}
}

// number is an unsigned Exp-Golomb number.
func (b *bitString) number(v uint32) {
	n := 0
	for x := uint64(v) + 1; x > 1; x >>= 1 {
		n++
	}
	b.bits(0, n)
	b.bits(uint64(v)+1, n+1)
}

// A publisher may send what no encoder makes: the server goes on.
func TestDecodeTimesOfMalformedSets(t *testing.T) {
	// The lengths of two fields are 0 after an overflow, and the slice ends before them.
	const overflow = 1<<32 - 4
	sps := &bitString{bytes: []byte{0x67, 66, 0, 30}}
	for _, v := range []uint32{0, overflow, 0, overflow, 1} {
		sps.number(v)
	}
	sps.bits(0, 1)
	sps.number(3)
	sps.number(3)
	sps.bits(0b11001, 5)
	slice := []byte{0x65, 0b1_1_1_00100}
	config := &au.Config{Codec: flv.CodecAVC, Sets: [][]byte{sps.bytes, {0x68, 0xcb}}}
	d := decodeTimes{codec: flv.CodecAVC}
	for i, shown := range []int64{0, 3000, 6000} {
		if at := d.at(config, true, [][]byte{slice}, shown); at != shown {
			t.Errorf("picture %d: decoded at %d, shown at %d", i, at, shown)
		}
	}
	// A stream that is whole again has its times again.
	good := &au.Config{Codec: flv.CodecAVC, Sets: avcSets}
	if at := d.at(good, true, [][]byte{{0x65, 0x88, 0x84, 0x00, 0x33}}, 9000); at != 9000 {
		t.Errorf("decoded at %d", at)
	}
}

// One that cannot be read costs its own configuration.
func TestADescriptionWithACutOffSet(t *testing.T) {
	const text = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H265/90000\r\n" +
		"a=fmtp:96 sprop-vps=QAEMAf//AWAAAAMAkAAAAwAAAwBdlZgJ;sprop-sps=QgEBAWAAAAMAkAAAAwAAAwBdoAKAgC0WWVmkkyuaAgAAAwACAAADADIQ;sprop-pps=RA==\r\n"
	tracks, err := Parse([]byte(text))
	if err != nil || len(tracks) != 1 || tracks[0].Err != nil || tracks[0].Config == nil {
		t.Fatalf("%+v, %v", tracks, err)
	}
	x, err := NewIntake(tracks, nil, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
}
