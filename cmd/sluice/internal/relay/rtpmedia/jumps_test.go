package rtpmedia

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pion/rtcp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Where the sender's clock is set forward, or another source begins, with timestamps of its own, the stream goes on by
// the time at which packets come, and picture and sound stay together. Pauses that the sender has made stay.
func TestTimestampsOfAnotherClock(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		name   string
		step   time.Duration // of the timestamps
		gone   time.Duration // of the time, beside those of a packet
		source uint32        // from then on
		want   time.Duration // what is more in the stream
	}{
		{"set forward", 2 * time.Hour, 0, 1, 0},
		{"set forward, and a second of nothing", 2 * time.Hour, second, 1, second},
		{"a pause", time.Hour, time.Hour, 1, time.Hour},
		{"a pause that is sent at once", 30 * second, 0, 1, 30 * second},
		{"another source", 3 * time.Hour, 0, 2, 0},
		{"another source, 5 s back", -5 * second, 0, 2, 0},
		{"another source, 7 s on", 7 * second, 0, 2, 0},
		{"another source that goes on", 0, 0, 2, 0},
		{"another source behind a pause", -3 * time.Hour, 20 * second, 2, 20 * second},
	} {
		t.Run(c.name, func(t *testing.T) {
			alloc := mem.New(mem.Options{})
			sluicetest.NoLeaks(t, alloc)
			picture := Format{Video: true, Codec: flv.CodecVP9, PayloadType: 96, Clock: videoClock}
			sound, err := NewFormat(au.NewPlainConfig(flv.CodecMuLaw, 8000, 1))
			if err != nil {
				t.Fatal(err)
			}
			formats := []Format{picture, sound}
			times := map[flv.TagType][]time.Duration{}
			x, err := NewIntake([]Track{{Format: picture}, {Format: sound}}, alloc, 1<<20, func(f live.Frame) error {
				defer f.Payload.Release()
				if f.Time > 0 && f.Payload.Len() > 20 { // no header
					times[f.Type] = append(times[f.Type], time.Duration(f.Time)*time.Millisecond)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			began := time.Unix(1e9, 0)
			const packets, every = 20, 40 * time.Millisecond
			for i := range time.Duration(packets) {
				stamp, at, source := i*every, i*every, uint32(1)
				if i >= packets/2 {
					stamp, at, source = stamp+c.step, at+c.gone, c.source
				}
				for track, payload := range [][]byte{append([]byte{0x0c, 0x82, 0x49, 0x83, 0x42, 0, 0x77, 0xf0, 0x32, 0x34}, make([]byte, 40)...), make([]byte, 320)} {
					f := &formats[track]
					p := make([]byte, headerLen)
					p[0], p[1], p[3] = 0x80, f.PayloadType|0x80, byte(i)
					binary.BigEndian.PutUint32(p[4:], uint32(int64(stamp)*int64(f.Clock)/int64(second)))
					binary.BigEndian.PutUint32(p[8:], source)
					late := time.Duration(track*int(i)%3) * time.Millisecond // on the way
					if err := x.Push(track, mem.Wrap(append(p, payload...), nil), began.Add(at+late)); err != nil {
						t.Fatal(err)
					}
				}
			}
			for kind, list := range times {
				if len(list) != packets {
					t.Fatalf("%v: %d frames", kind, len(list))
				}
				got, want := list[packets-1]-list[0], (packets-1)*every+c.want
				if (got - want).Abs() > 5*time.Millisecond {
					t.Errorf("%v: %v from the first to the last, want %v: %v", kind, got, want, list)
				}
			}
		})
	}
}

// A sender that begins again with other numbers is not reported to have lost those between.
func TestReportsWhenNumbersBeginAgain(t *testing.T) {
	for _, again := range []uint16{100, 30000, 65000} {
		f, err := NewFormat(au.NewPlainConfig(flv.CodecMuLaw, 8000, 1))
		if err != nil {
			t.Fatal(err)
		}
		c := NewCollector(f, mem.Default(), 1<<20, func(s Sample) error { s.Packed.Release(); return nil })
		push := func(number, at uint16, source uint32) {
			p := []byte{0x80, f.PayloadType, byte(number >> 8), byte(number)}
			p = binary.BigEndian.AppendUint32(p, uint32(at)*160)
			p = append(binary.BigEndian.AppendUint32(p, source), 1, 2, 3)
			if err := c.Push(mem.Wrap(p, nil), time.Unix(1000, int64(at)*20e6)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range uint16(10) {
			push(20000+i, i, 1)
		}
		c.Report(time.Unix(1001, 0))
		for i := range uint16(10) {
			push(again+i, 10+i, 2)
		}
		var r rtcp.ReceiverReport
		if err := r.Unmarshal(c.Report(time.Unix(1002, 0))); err != nil || len(r.Reports) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		if one := r.Reports[0]; one.SSRC != 2 || one.TotalLost != 0 || one.FractionLost != 0 || uint16(one.LastSequenceNumber) != again+9 {
			t.Errorf("from %d on: %+v", again, one)
		}
		c.Close()
	}
}

// Beside the reports on both tracks stands the sender's name (RFC 3550, section 6.1), which is the same: GStreamer takes
// tracks without one for those of two senders, and joins no clocks.
func TestReportsNameTheSender(t *testing.T) {
	c := configs(t)
	formats := make([]Format, 2)
	for i, config := range []*au.Config{c[0], au.NewOpusConfig(2)} {
		var err error
		if formats[i], err = NewFormat(config); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for range 2 { // streams
		u := units(c[0], rand.New(rand.NewPCG(1, 2)))[0]
		out, err := NewMuxer(formats).Append(nil, &u, time.Unix(1000, 0))
		if err != nil {
			t.Fatal(err)
		}
		_, reports := packets(t, out)
		names := map[string]bool{}
		for _, p := range reports {
			list, err := rtcp.Unmarshal(p)
			if err != nil || len(list) != 2 {
				t.Fatalf("%x: %v, %v", p, list, err)
			}
			report, chunks := list[0].(*rtcp.SenderReport), list[1].(*rtcp.SourceDescription).Chunks
			if len(chunks) != 1 || chunks[0].Source != report.SSRC || len(chunks[0].Items) != 1 || chunks[0].Items[0].Type != rtcp.SDESCNAME {
				t.Fatalf("%v", list)
			}
			names[chunks[0].Items[0].Text], seen[chunks[0].Items[0].Text] = true, true
		}
		if len(reports) != 2 || len(names) != 1 {
			t.Errorf("%d reports, names %v", len(reports), names)
		}
	}
	if len(seen) != 2 {
		t.Errorf("names of two streams: %v", seen)
	}
}
