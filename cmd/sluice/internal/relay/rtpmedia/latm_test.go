package rtpmedia

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pion/rtp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// What GStreamer's rtpmp4apay says of AAC of 44.1 kHz and one channel.
const latmConfig = "40002410"

// What it says of the AAC of libavcodec, the configuration of which has an extension.
func TestLATMWithAnExtension(t *testing.T) {
	tracks, err := Parse([]byte("v=0\r\no=- 0 0 IN IP4 0\r\ns=-\r\nt=0 0\r\nm=audio 0 RTP/AVP 97\r\na=rtpmap:97 MP4A-LATM/44100\r\na=fmtp:97 cpresent=0;config=40002410adca00\r\n"))
	if err != nil || tracks[0].Err != nil {
		t.Fatal(err, tracks[0].Err)
	}
	f := tracks[0].Format
	if f.Codec != flv.CodecAAC || f.Config.Rate != 44100 || f.Config.Channels != 1 || !bytes.Equal(f.Config.Record, []byte{0x12, 0x08, 0x56, 0xe5, 0}) {
		t.Errorf("%+v, %+v", f, f.Config)
	}
}

// Frames of MP4A-LATM come whole and in fragments.
func TestLATM(t *testing.T) {
	const sdp = "v=0\r\no=- 0 0 IN IP4 0\r\ns=-\r\nt=0 0\r\nm=audio 0 RTP/AVP 97\r\na=rtpmap:97 MP4A-LATM/44100\r\na=fmtp:97 cpresent=%s;config=%s\r\n"
	tracks, err := Parse(fmt.Appendf(nil, sdp, "0", latmConfig))
	if err != nil || tracks[0].Err != nil {
		t.Fatal(err, tracks[0].Err)
	}
	f := tracks[0].Format
	if f.Codec != flv.CodecAAC || f.Config.Rate != 44100 || f.Config.Channels != 1 || f.Config.FrameLen != 1024 {
		t.Errorf("%+v, %+v", f, f.Config)
	}
	alloc := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, alloc)
	var got [][]byte
	c := NewCollector(f, alloc, 1<<20, func(s Sample) error {
		got = append(got, bytes.Clone(s.Packed.Bytes()[au.Room:]))
		s.Packed.Release()
		return nil
	})
	defer c.Close()
	sequence := uint16(0)
	push := func(at uint32, marker bool, payload []byte) {
		t.Helper()
		p := rtp.Packet{Header: rtp.Header{Version: 2, PayloadType: 97, SequenceNumber: sequence, Timestamp: at, Marker: marker}, Payload: payload}
		raw, err := p.Marshal()
		if err == nil {
			b := alloc.Get(len(raw))
			copy(b.Bytes(), raw)
			err = c.Push(b, time.Unix(1e9, 0))
		}
		if err != nil {
			t.Fatal(err)
		}
		sequence++
	}
	want := [][]byte{bytes.Repeat([]byte{1}, 200), bytes.Repeat([]byte{2}, 255), bytes.Repeat([]byte{3}, 1500)}
	push(0, true, append([]byte{200}, want[0]...))
	push(1024, true, append([]byte{255, 0}, want[1]...))
	long := append([]byte{255, 255, 255, 255, 255, 225}, want[2]...)
	push(2048, false, long[:600])
	push(2048, false, long[600:1200])
	push(2048, true, append(long[1200:], 9)) // and a byte to fill up
	for _, broken := range [][]byte{{}, {0}, {255}, bytes.Repeat([]byte{255}, 1000)} {
		push(3072, true, broken)
	}
	if len(got) != len(want) {
		t.Fatalf("%d frames, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("frame %d of %d bytes, want %d", i, len(got[i]), len(want[i]))
		}
	}
	for _, wrong := range [][2]string{{"1", latmConfig}, {"", latmConfig}, {"0", ""}, {"0", "zz"}, {"0", "40"}, {"0", "ffffffffffffffff"}, {"0", "40402420adca00"}} {
		tracks, err := Parse(fmt.Appendf(nil, sdp, wrong[0], wrong[1]))
		if err != nil || !errors.Is(tracks[0].Err, ErrCodec) && !errors.Is(tracks[0].Err, ErrSyntax) {
			t.Errorf("%q: %v, %v", wrong, err, tracks[0].Err)
		}
	}
}
