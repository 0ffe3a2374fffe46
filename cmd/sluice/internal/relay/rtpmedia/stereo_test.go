package rtpmedia

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// Timestamps of G.711 count samples, of which each channel has a byte (RFC 3551, section 4.1): a frame
// that is longer than a packet is cut between them, also where a packet has room for an odd number.
func TestStereoPlainSound(t *testing.T) {
	c := au.NewPlainConfig(flv.CodecALaw, 8000, 2)
	f, err := NewFormat(c)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMuxer([]Format{f})
	m.Limit(headerLen + 1001)
	out, err := m.Append(nil, &au.Unit{Codec: flv.CodecALaw, Config: c, Key: true, Parts: [][]byte{make([]byte, 2048)}}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	rtp, _ := packets(t, out)
	if len(rtp) != 3 {
		t.Fatalf("%d packets", len(rtp))
	}
	first := binary.BigEndian.Uint32(rtp[0][4:])
	for i, want := range []struct {
		size int
		at   uint32
	}{{1000, 0}, {1000, 500}, {48, 1000}} {
		size, at := len(rtp[i])-headerLen, binary.BigEndian.Uint32(rtp[i][4:])-first
		if size != want.size || at != want.at {
			t.Errorf("packet %d: %d bytes at %d, want %v", i, size, at, want)
		}
	}
}
