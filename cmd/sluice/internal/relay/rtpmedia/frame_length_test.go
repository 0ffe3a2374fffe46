package rtpmedia

import (
	"bytes"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Encoders put several frames of MP3 into one packet (RFC 2250, section 3.5). Those of
// MPEG-2, with 24 kHz and less, are half as long as those of MPEG-1.
func TestSeveralFramesOfMP3InAPacket(t *testing.T) {
	for name, c := range map[string]struct {
		head  [4]byte
		size  int
		ticks uint32
	}{
		"MPEG-1, layer III":         {[4]byte{0xff, 0xfb, 0x90, 0xc0}, 417, 2351},
		"MPEG-1, layer III, padded": {[4]byte{0xff, 0xfb, 0x92, 0xc0}, 418, 2351},
		"MPEG-1, layer II":          {[4]byte{0xff, 0xfd, 0x54, 0xc0}, 240, 2160},
		"MPEG-2, layer III":         {[4]byte{0xff, 0xf3, 0x80, 0xc0}, 208, 2351},
		"MPEG-2, layer III, padded": {[4]byte{0xff, 0xf3, 0x82, 0xc0}, 209, 2351},
		"MPEG-2.5, layer III":       {[4]byte{0xff, 0xe3, 0x48, 0xc0}, 288, 6480},
		"MPEG-2, layer II":          {[4]byte{0xff, 0xf5, 0x84, 0xc0}, 384, 4320},
	} {
		t.Run(name, func(t *testing.T) {
			alloc := mem.New(mem.Options{})
			sluicetest.NoLeaks(t, alloc)
			f := Format{Codec: flv.CodecMP3, PayloadType: 14, Clock: 90000}
			packet := make([]byte, headerLen+4)
			packet[0], packet[1] = 0x80, f.PayloadType|0x80
			frame := append(c.head[:], bytes.Repeat([]byte{7}, c.size-4)...)
			const frames = 3
			packet = append(packet, bytes.Repeat(frame, frames)...)
			n := uint32(0)
			x := NewCollector(f, alloc, 1<<16, func(s Sample) error {
				if got := s.Packed.Bytes()[au.Room:]; !bytes.Equal(got, frame) || s.Timestamp != n*c.ticks {
					t.Errorf("frame %d: %d bytes at %d, want %d at %d", n, len(got), s.Timestamp, len(frame), n*c.ticks)
				}
				n++
				s.Packed.Release()
				return nil
			})
			defer x.Close()
			if err := x.Push(mem.Wrap(packet, nil), time.Now()); err != nil || n != frames {
				t.Errorf("%d frames, want %d, %v", n, frames, err)
			}
		})
	}
}
