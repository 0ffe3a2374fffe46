package rtpmedia

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Whatever units a publisher sends, as parameter sets and pictures too, the Intake goes on.
func FuzzIntake(f *testing.F) {
	pack := func(units ...[]byte) (p []byte) {
		for _, u := range units {
			p = append(append(p, 0x80, byte(len(u))), u...)
		}
		return p
	}
	f.Add(uint8(0), pack(avcSets[0], avcSets[1], []byte{0x65, 0x88, 0x84, 0, 0x33}, []byte{0x41, 0x9a, 0x24, 0x6c}))
	f.Add(uint8(1), pack([]byte{0x44, 0x01, 0xc1, 0x72}, []byte{0x26, 0x01, 0xaf}, []byte{0x60, 0x01, 0, 4, 0x44, 0x01, 0, 1, 0x44}))
	f.Add(uint8(2), pack([]byte{0x18, 0x0a, 0x0b, 0, 0, 0, 0x24, 0xc4}, []byte{0x10, 0x32, 1, 2}))
	f.Add(uint8(2), []byte("\xb10 \x00\r0700000007")) // ends in the timing of a sequence header
	f.Add(uint8(3), pack([]byte{0x0c, 0x82, 0x49, 0x83, 0x42, 0, 0x77, 0xf0}))
	codecs := []flv.FourCC{flv.CodecAVC, flv.CodecHEVC, flv.CodecAV1, flv.CodecVP9, flv.CodecAAC, flv.CodecMP3, flv.CodecAC3, flv.CodecOpus}
	aac, err := au.NewAACConfig([]byte{0x12, 0x10})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, which uint8, p []byte) {
		format := Format{Codec: codecs[int(which)%len(codecs)], PayloadType: 96, Clock: videoClock}
		switch {
		case int(which)%len(codecs) < 4:
			format.Video = true
		case format.Codec == flv.CodecAAC:
			format.Config, format.sizeBits, format.indexBits, format.deltaBits = aac, 13, 3, 3
		default:
			format.Config = au.NewPlainConfig(format.Codec, 48000, 2)
		}
		alloc := mem.New(mem.Options{})
		sluicetest.NoLeaks(t, alloc)
		x, err := NewIntake([]Track{{Format: format}}, alloc, 1<<16, func(f live.Frame) error {
			f.Payload.Release()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		now := time.Unix(1e9, 0)
		for n := uint16(0); len(p) > 2; n++ {
			size := min(int(p[1]), len(p)-2)
			b := alloc.Get(headerLen + size)
			q := b.Bytes()
			clear(q[:headerLen])
			q[0], q[1] = 0x80, format.PayloadType|p[0]&0x80
			binary.BigEndian.PutUint16(q[2:], n)
			binary.BigEndian.PutUint32(q[4:], uint32(n)*3000*uint32(p[0]&0x7f))
			copy(q[headerLen:], p[2:2+size])
			p = p[2+size:]
			now = now.Add(40 * time.Millisecond)
			if x.Push(0, b, now) != nil {
				return
			}
		}
	})
}
