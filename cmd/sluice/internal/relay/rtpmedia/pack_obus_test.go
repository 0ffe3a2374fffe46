package rtpmedia

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pion/rtp/codecs"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/sluicetest"
)

// Chromium takes a packet that begins with a whole OBU for the first of a picture, and
// one that ends with one for the last.
func TestPacketsOfAPictureEndWithinAnOBU(t *testing.T) {
	random := rand.New(rand.NewPCG(sluicetest.Seed(t), 3))
	f, err := NewFormat(&au.Config{Codec: flv.CodecAV1})
	if err != nil {
		t.Fatal(err)
	}
	m := NewMuxer([]Format{f})
	const firstIsContinued, lastContinues = 0x80, 0x40
	for first := range maxPacket + 20 {
		u := au.Unit{Video: true, Codec: flv.CodecAV1, Key: first%2 == 0, Time: uint32(first), Parts: [][]byte{
			au.AppendOBU(nil, 0x0a, nil, make([]byte, 11)),
			au.AppendOBU(nil, 0x32, nil, make([]byte, first)),
			au.AppendOBU(nil, 0x32, nil, make([]byte, 2+random.IntN(3000))),
		}}
		out, err := m.Append(nil, &u, time.Unix(1e9, 0))
		if err != nil {
			t.Fatal(err)
		}
		rtp, _ := packets(t, out)
		said := ""
		var theirs codecs.AV1Depacketizer
		var got []byte
		for i, p := range rtp {
			obus, err := theirs.Unmarshal(p[headerLen:])
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, obus...)
			if flags := p[headerLen]; (flags&firstIsContinued != 0) != (i > 0) || (flags&lastContinues != 0) != (i < len(rtp)-1) {
				said += fmt.Sprintf(" %d of %d has %#02x", i, len(rtp), flags)
			}
		}
		if want := slices.Concat(u.Parts...); !bytes.Equal(got, want) {
			t.Errorf("an OBU of %d bytes: another depacketizer has %d bytes, want %d", first, len(got), len(want))
		}
		if said != "" {
			t.Errorf("an OBU of %d bytes: the packet%s", first, said)
		}
	}
}

// OBUs of different layers share packets: Chromium would take the first of the second layer
// for a picture of its own, and show none.
func TestLayersOfAPictureArePackedAsOne(t *testing.T) {
	f, err := NewFormat(&au.Config{Codec: flv.CodecAV1})
	if err != nil {
		t.Fatal(err)
	}
	for first := 1200; first < maxPacket+20; first++ {
		u := au.Unit{Video: true, Codec: flv.CodecAV1, Key: true, Parts: [][]byte{
			au.AppendOBU(nil, 0x0a, nil, make([]byte, 11)),
			au.AppendOBU(nil, 0x36, []byte{0x00}, make([]byte, first)),
			au.AppendOBU(nil, 0x36, []byte{0x08}, make([]byte, 2000)),
		}}
		out, err := NewMuxer([]Format{f}).Append(nil, &u, time.Unix(1e9, 0))
		if err != nil {
			t.Fatal(err)
		}
		rtp, _ := packets(t, out)
		for i, p := range rtp {
			if continued := p[headerLen]&obuContinued != 0; continued != (i > 0) {
				t.Errorf("a first layer of %d bytes: packet %d of %d begins with %#02x", first, i, len(rtp), p[headerLen])
			}
		}
	}
}
