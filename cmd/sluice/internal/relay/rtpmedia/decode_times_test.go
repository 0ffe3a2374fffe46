package rtpmedia

import (
	"encoding/hex"
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

// Pictures of interlaced H.264, and of a stream that never has an IDR picture, are decoded in steps too when some
// are shown before others: times that go back would have them shown together where a protocol has none that do.
func TestDecodeTimesThatPicturesDoNotSay(t *testing.T) {
	sps := func(frames uint64) []byte { // of the main profile, which may reorder as it likes
		b := &bitString{bytes: []byte{0x67, 77, 0, 30}}
		for _, v := range []uint32{0, 0, 0, 4, 2} { // order counts of type 0
			b.number(v)
		}
		b.bits(0, 1)
		b.number(19)
		b.number(11)
		b.bits(frames<<1|1, 2) // frames alone or not, and behind that other bits
		b.bits(0b00100<<frames, 6)
		return b.bytes
	}
	vui, _ := hex.DecodeString("67640015acd941433f260220000003002000000643e28532c0") // of x264, interlaced: two are reordered
	key, inter := []byte{0x65, 0x88, 0x84, 0x00, 0x33}, []byte{0x41, 0x9a, 0x24, 0x6c, 0x41}
	recovery := []byte{6, 6, 1, 0xc4, 0x80}
	for _, c := range []struct {
		name  string
		sps   []byte
		first [][]byte
		begin int // pictures before which the depth is not known
	}{
		{"interlaced, says it", vui, [][]byte{key}, 0}, {"interlaced", sps(0), [][]byte{key}, 4}, {"no IDR picture", sps(1), [][]byte{recovery, inter}, 4},
	} {
		config := &au.Config{Codec: flv.CodecAVC, Sets: [][]byte{c.sps, avcSets[1]}}
		d := decodeTimes{codec: flv.CodecAVC}
		latest := int64(0)
		for i := range 40 {
			const step = 3600
			shown := int64((i+3)/4*4+[]int{0, 0, -2, -3}[i%4]) * step // I, then P B b b
			if i > 0 && i%4 == 0 {
				shown = int64(i-1) * step
			}
			units := [][]byte{inter}
			if i == 0 {
				units = c.first
			}
			at := d.at(config, i == 0, units, shown)
			if i > c.begin && (at < latest || at > shown || shown-at > 5*step || i > 4 && at == latest) {
				t.Errorf("%s: picture %d is decoded at %d, the one before at %d, and shown at %d", c.name, i, at, latest, shown)
			}
			latest = at
		}
	}
}

// So are those of HEVC with temporal sublayers, whose types and depths the library does not know: here x265's, a key frame
// and then P B b b.
func TestDecodeTimesOfTemporalSublayers(t *testing.T) {
	config := &au.Config{Codec: flv.CodecHEVC}
	for _, set := range []string{
		"40010c02ffff01600000030090000003000003003c00009594aca048",
		"42010201600000030090000003000003003c0000a00a080f1659594acb24995e02d0100000030010000003019080",
		"4401c172b46240",
	} {
		b, _ := hex.DecodeString(set)
		config.Sets = append(config.Sets, b)
	}
	d := decodeTimes{codec: flv.CodecHEVC}
	latest := int64(-1)
	for i, p := range []struct {
		shown int64
		unit  string // its beginning
	}{
		{0, "2801af1d20bd26b71f5c6276bf03"}, {4, "0201d02149e10c20e905ca41b8df"}, {2, "0201e04495782048413952bfbefa"}, {1, "0402e024fd7e890292097e826190"},
		{3, "0402e066b5fd42050411dc0fc7db"}, {8, "0201d04092557dc4300838415df1"}, {6, "0201e0c225555f70812904ea07f9"}, {5, "0402e0a6f5d7d2240a08228433ce"},
		{7, "0402e0e22d57f708141043f82f4c"}, {12, "0201d060b25557dc43008384155f"}, {10, "0201e142255257dc2048412fb2a6"}, {9, "0402e126f5d7d2240a4825440c82"},
	} {
		const step = 3600
		unit, _ := hex.DecodeString(p.unit)
		shown := p.shown * step
		// By two pictures the stream reorders: each is decoded when the one is shown that is two before it.
		want := int64(max(i-2, 0)) * step
		if at := d.at(config, i == 0, [][]byte{unit}, shown); at != want {
			t.Errorf("picture %d is decoded at %d, the one before at %d, and shown at %d: want %d", i, at, latest, shown, want)
		} else {
			latest = at
		}
	}
}
