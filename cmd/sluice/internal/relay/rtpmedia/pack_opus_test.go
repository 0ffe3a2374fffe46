package rtpmedia

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// opusPayloads are the payloads and timestamps of what a Muxer makes of a packet of Opus.
func opusPayloads(t *testing.T, limit int, p []byte) (payloads [][]byte, at []uint32) {
	t.Helper()
	c := au.NewOpusConfig(2)
	f, err := NewFormat(c)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMuxer([]Format{f})
	m.Limit(limit)
	u := au.Unit{Codec: flv.CodecOpus, Config: c, Parts: [][]byte{p}, Key: true}
	out, err := m.Append(nil, &u, time.Unix(1e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	if n := m.Bound(&u); len(out) > n {
		t.Errorf("%d bytes of packets, above the bound of %d", len(out), n)
	}
	rtp, _ := packets(t, out)
	for _, one := range rtp {
		payloads, at = append(payloads, one[headerLen:]), append(at, binary.BigEndian.Uint32(one[4:]))
	}
	return payloads, at
}

// A packet of Opus that is longer than one of RTP goes as its frames, and loses nothing.
func TestLongPacketsOfOpus(t *testing.T) {
	frame := func(n int, with byte) []byte { return bytes.Repeat([]byte{with}, n) }
	const toc = 0xfc // CELT, full band, 20 ms, stereo
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	large, other, small := frame(1275, 1), frame(1275, 2), frame(100, 3)
	for name, c := range map[string]struct {
		packet []byte
		want   [][]byte
	}{
		"two frames of one size":  {join([]byte{toc | 1}, large, other), [][]byte{large, other}},
		"two frames of two sizes": {join([]byte{toc | 2, 100}, small, large), [][]byte{small, large}},
		"a length of two bytes":   {join([]byte{toc | 2, 255, 255}, large, small), [][]byte{large, small}},
		"three of one size":       {join([]byte{toc | 3, 3}, large, other, large), [][]byte{large, other, large}},
		"three of three sizes":    {join([]byte{toc | 3, 0x83, 100, 255, 255}, small, other, large), [][]byte{small, other, large}},
		"with padding":            {join([]byte{toc | 3, 0x42, 255, 46}, large, other, make([]byte, 300)), [][]byte{large, other}},
		"48 of them":              {join([]byte{toc | 3, 48}, bytes.Repeat(small, 48)), bytes.SplitAfterN(bytes.Repeat(small, 48), small, 48)},
		"and none that is empty":  {join([]byte{toc | 3, 0x83, 0, 255, 255}, other, large), [][]byte{{}, other, large}},
	} {
		got, at := opusPayloads(t, 1200, c.packet)
		if len(got) != len(c.want) {
			t.Errorf("%s: %d packets, want %d", name, len(got), len(c.want))
			continue
		}
		for i, p := range got {
			if want := append([]byte{toc}, c.want[i]...); !bytes.Equal(p, want) {
				t.Errorf("%s, frame %d: % x of %d bytes, want % x of %d", name, i, p[:min(4, len(p))], len(p), want[:min(4, len(want))], len(want))
			}
			if i > 0 && at[i]-at[i-1] != 960 {
				t.Errorf("%s, frame %d: %d ticks behind the one before, want 960", name, i, at[i]-at[i-1])
			}
		}
	}
}

// What fits goes as it is, and so does one frame, which has no parts.
func TestShortPacketsOfOpus(t *testing.T) {
	for _, p := range [][]byte{
		append([]byte{0xfd}, make([]byte, 1000)...),
		append([]byte{0xfc}, bytes.Repeat([]byte{7}, 1275)...),
	} {
		if got, _ := opusPayloads(t, 1200, p); len(got) != 1 || !bytes.Equal(got[0], p) {
			t.Errorf("%d packets of %d bytes", len(got), len(p))
		}
	}
}

// What is no packet of Opus and long is left out.
func TestMalformedPacketsOfOpus(t *testing.T) {
	for _, head := range [][]byte{{0xfd}, {0xff, 0}, {0xff, 63}, {0xff, 0x83, 255, 255, 255, 255}, {0xff, 0x41}, {0xff, 4}} {
		p := append(bytes.Clone(head), bytes.Repeat([]byte{0xff}, 1400-len(head))...)
		if got, _ := opusPayloads(t, 1400, p); len(got) != 0 {
			t.Errorf("% x: %d packets", head, len(got))
		}
	}
}

// RTP has no form for more than two channels of Opus.
func TestOpusOfManyChannels(t *testing.T) {
	if _, err := NewFormat(au.NewOpusConfig(6)); !errors.Is(err, ErrCodec) {
		t.Error(err)
	}
	f, err := NewFormat(au.NewOpusConfig(1))
	if err != nil {
		t.Fatal(err)
	}
	u := au.Unit{Codec: flv.CodecOpus, Config: au.NewOpusConfig(6), Parts: [][]byte{{0xfc, 1}}, Key: true}
	if _, err := NewMuxer([]Format{f}).Append(nil, &u, time.Unix(1e9, 0)); !errors.Is(err, au.ErrChanged) {
		t.Error(err)
	}
}
