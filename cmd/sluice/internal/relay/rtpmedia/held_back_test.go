package rtpmedia

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A track that begins late is as late in the stream, also when the sender has held the other one back until then, so that
// the first packets of both come at once: reports say it, if they come as one clock says. They do not count where the
// clocks of a camera's tracks, or the times in its reports, are far apart.
func TestATrackThatBeginsLateBesideOneThatWasHeldBack(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		late, held time.Duration // of sound; of pictures
		clocks     time.Duration // by how much sound's clock is wrong
		stamps     time.Duration // by how much what its report says of a timestamp is
		want       time.Duration
	}{
		{0, 0, 0, 0, 0},
		{2 * second, 2 * second, 0, 0, 2 * second},
		{6 * second, 6 * second, 0, 0, 6 * second},
		{10 * second, 10 * second, 0, 0, 10 * second},
		{30 * second, 10 * second, 0, 0, 30 * second},
		{6 * second, 0, 0, 0, 6 * second},
		{0, 0, 8 * second, 0, 0},
		{0, 0, -8 * second, 0, 0},
		{0, 0, 24 * 365 * time.Hour, 0, 0},
		{0, 0, 0, -8 * second, 0}, // before the time that the report gives it
		{0, 0, 0, 8 * second, 0},  // it would be before the stream
		{0, 0, 0, time.Minute, 0},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			alloc := mem.New(mem.Options{})
			sluicetest.NoLeaks(t, alloc)
			picture := Format{Video: true, Codec: flv.CodecVP9, PayloadType: 96, Clock: videoClock}
			sound, err := NewFormat(au.NewPlainConfig(flv.CodecMuLaw, 8000, 1))
			if err != nil {
				t.Fatal(err)
			}
			first := map[flv.TagType]time.Duration{}
			x, err := NewIntake([]Track{{Format: picture}, {Format: sound}}, alloc, 1<<20, func(f live.Frame) error {
				defer f.Payload.Release()
				if _, have := first[f.Type]; !have && f.Time > 0 {
					first[f.Type] = time.Duration(f.Time) * time.Millisecond
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			began := time.Unix(1e9, 0)
			// Media time 0 is at began; timestamps are media times.
			report := func(track int, f Format, at, clock, stamp time.Duration) {
				p := make([]byte, 28)
				p[0], p[1], p[3] = 0x80, 200, 6
				binary.BigEndian.PutUint64(p[8:], ntp(began.Add(at+clock)))
				binary.BigEndian.PutUint32(p[16:], uint32(int64(at+stamp)*int64(f.Clock)/int64(second)))
				x.Control(track, p, began.Add(at))
			}
			push := func(track int, f Format, stamp, at time.Duration, payload ...byte) {
				p := make([]byte, headerLen)
				p[0], p[1] = 0x80, f.PayloadType|0x80
				binary.BigEndian.PutUint32(p[4:], uint32(int64(stamp)*int64(f.Clock)/int64(second)))
				if err := x.Push(track, mem.Wrap(append(p, payload...), nil), began.Add(at)); err != nil {
					t.Fatal(err)
				}
			}
			report(0, picture, c.held, 0, 0)
			if c.held < c.late {
				push(0, picture, 0, c.held, 0x0c, 0x82, 0x49, 0x83, 0x42, 0, 0x77, 0xf0, 0x32, 0x34) // a key frame
			}
			report(1, sound, c.late, c.clocks, c.stamps)
			if c.held >= c.late {
				push(0, picture, 0, c.held, 0x0c, 0x82, 0x49, 0x83, 0x42, 0, 0x77, 0xf0, 0x32, 0x34)
			}
			push(1, sound, c.late, c.late, make([]byte, 160)...)
			push(1, sound, c.late+20*time.Millisecond, c.late+second, make([]byte, 160)...)
			got := first[flv.TagAudio] - first[flv.TagVideo]
			if len(first) < 2 || (got-c.want).Abs() > 40*time.Millisecond {
				t.Errorf("sound begins %v behind pictures, want %v: %v", got, c.want, first)
			}
		})
	}
}
