package rtpmedia

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

var avcSets = [][]byte{
	{0x67, 0x42, 0xc0, 0x0a, 0xd9, 0x07, 0x3f, 0x3c, 0x04, 0x40, 0, 0, 3, 0, 0x40, 0, 0, 0x0c, 0x83, 0xc4, 0x89, 0x92},
	{0x68, 0xcb, 0x83, 0xcb, 0x20},
}

// configs are configurations of all codecs that RTP carries.
func configs(t testing.TB) []*au.Config {
	t.Helper()
	avc, err := au.NewVideoConfig(flv.CodecAVC, avcSets)
	if err != nil {
		t.Fatal(err)
	}
	aac, err := au.NewAACConfig([]byte{0x12, 0x10})
	if err != nil {
		t.Fatal(err)
	}
	mp3 := au.SoundConfig(flv.CodecMP3, append([]byte{0xff, 0xfb, 0x90, 0xc0}, make([]byte, 413)...))
	return []*au.Config{avc, {Codec: flv.CodecHEVC}, {Codec: flv.CodecAV1}, {Codec: flv.CodecVP9}, aac, mp3,
		au.NewOpusConfig(2), au.NewPlainConfig(flv.CodecALaw, 8000, 1), au.NewPlainConfig(flv.CodecMuLaw, 8000, 1), au.NewPlainConfig(flv.CodecAC3, 48000, 2)}
}

// units makes units of a codec: of all sizes around that of a packet, and large ones.
func units(c *au.Config, random *rand.Rand) []au.Unit {
	media := func(n int, head ...byte) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(random.Uint32()) | 1
		}
		copy(p, head)
		return p
	}
	var list []au.Unit
	add := func(key bool, parts ...[]byte) {
		list = append(list, au.Unit{Video: c.Rate == 0, Codec: c.Codec, Config: c, Key: key, Time: uint32(len(list)) * 40, Parts: parts})
	}
	sizes := []int{5, 100, 1383, 1384, 1385, 1386, 1387, 1388, 1389, 2770, 2776, 30000}
	for i, n := range sizes {
		switch c.Codec {
		case flv.CodecAVC:
			add(i%4 == 0, media(6, 0x06), media(n, 0x65), media(n+1, 0x65))
		case flv.CodecHEVC:
			add(i%4 == 0, media(n, 0x26, 1), media(9, 0x26, 1))
		case flv.CodecAV1:
			add(i%4 == 0, au.AppendOBU(nil, 0x32, nil, media(n)), au.AppendOBU(nil, 0x36, []byte{0x20}, media(n)))
		case flv.CodecVP9:
			add(i%4 == 0, media(n))
		case flv.CodecMP3:
			add(true, media(417, 0xff, 0xfb, 0x90, 0xc0))
		case flv.CodecAC3:
			add(true, media([]int{128, 1792, 2560}[i%3], 0x0b, 0x77, 1, 2, []byte{0, 28, 37}[i%3], 0x40))
		case flv.CodecALaw, flv.CodecMuLaw:
			add(true, media(min(n, maxPacket-headerLen)))
		case flv.CodecOpus:
			add(true, media(min(n, maxPacket-headerLen), 0xfc))
		default:
			add(true, media(min(n, 8000)))
		}
	}
	return list
}

// packets takes interleaved frames apart.
func packets(t testing.TB, p []byte) (rtp, rtcp [][]byte) {
	t.Helper()
	for len(p) > 0 {
		if p[0] != '$' || len(p) < 4 || len(p) < 4+u16(p[2:]) || u16(p[2:]) > maxPacket {
			t.Fatalf("% x", p[:min(len(p), 8)])
		}
		one := p[4 : 4+u16(p[2:])]
		if p[1]%2 == 0 {
			rtp = append(rtp, one)
		} else {
			rtcp = append(rtcp, one)
		}
		p = p[4+len(one):]
	}
	return rtp, rtcp
}

// packed is what a Collector has to deliver for a unit.
func packed(u *au.Unit) []byte {
	if u.Codec == flv.CodecAVC || u.Codec == flv.CodecHEVC {
		return au.AppendLengths(nil, u.Parts)
	}
	return slices.Concat(u.Parts...)
}

func TestUnitsThereAndBack(t *testing.T) {
	for _, c := range configs(t) {
		for _, shuffled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/shuffled=%v", c.Codec, shuffled), func(t *testing.T) {
				alloc := mem.New(mem.Options{})
				sluicetest.NoLeaks(t, alloc)
				random := rand.New(rand.NewPCG(sluicetest.Seed(t), 1))
				f, err := NewFormat(c)
				if err != nil {
					t.Fatal(err)
				}
				m := NewMuxer([]Format{f})
				want := units(c, random)
				var all [][]byte
				for i := range want {
					out, err := m.Append(nil, &want[i], time.Unix(1e9, 0))
					if err != nil {
						t.Fatal(err)
					}
					if len(out) > m.Bound(&want[i]) {
						t.Errorf("unit %d has %d bytes of packets, above the bound of %d", i, len(out), m.Bound(&want[i]))
					}
					rtp, rtcp := packets(t, out)
					if i == 0 && len(rtcp) == 0 {
						t.Error("no report before the first unit")
					}
					all = append(all, rtp...)
				}
				if shuffled {
					for i := 2; i+8 < len(all); i += 8 {
						random.Shuffle(8, func(a, b int) { all[i+a], all[i+b] = all[i+b], all[i+a] })
					}
				}
				var got []Sample
				x := NewCollector(f, alloc, 1<<20, func(s Sample) error { got = append(got, s); return nil })
				for _, p := range all {
					b := alloc.Get(len(p))
					copy(b.Bytes(), p)
					if err := x.Push(b, time.Now()); err != nil {
						t.Fatal(err)
					}
				}
				defer x.Close()
				if l := x.Losses(); l != (Losses{}) {
					t.Errorf("%+v", l)
				}
				if len(got) != len(want) {
					t.Fatalf("%d units, want %d", len(got), len(want))
				}
				for i := range want {
					b := got[i].Packed.Bytes()[au.Room:]
					w := packed(&want[i])
					if c.Codec == flv.CodecAVC && want[i].Key {
						w = au.AppendLengths(nil, append(slices.Clone(c.Sets), want[i].Parts...))
					}
					if !bytes.Equal(b, w) {
						t.Errorf("unit %d: %d bytes, want %d", i, len(b), len(w))
					}
					if i > 0 && c.Rate == 0 && got[i].Timestamp-got[i-1].Timestamp != 40*90 {
						t.Errorf("unit %d is %d ticks behind the one before", i, got[i].Timestamp-got[i-1].Timestamp)
					}
					got[i].Packed.Release()
				}
			})
		}
	}
}

func TestLostPacketsCostTheirUnitsOnly(t *testing.T) {
	for _, c := range configs(t)[:4] {
		t.Run(c.Codec.String(), func(t *testing.T) {
			random := rand.New(rand.NewPCG(sluicetest.Seed(t), 2))
			f, _ := NewFormat(c)
			m := NewMuxer([]Format{f})
			whole := map[string]bool{}
			lost, got := 0, 0
			x := NewCollector(f, mem.Default(), 1<<20, func(s Sample) error {
				if !whole[string(s.Packed.Bytes()[au.Room:])] {
					t.Error("a unit that was never sent")
				}
				got++
				s.Packed.Release()
				return nil
			})
			defer x.Close()
			sent := 0
			const rounds, quiet = 60, 4 // in the last ones nothing is lost
			for round := range rounds + quiet {
				for _, u := range units(c, random) {
					whole[string(packed(&u))] = true
					if c.Codec == flv.CodecAVC && u.Key {
						whole[string(au.AppendLengths(nil, append(slices.Clone(c.Sets), u.Parts...)))] = true
					}
					sent++
					out, _ := m.Append(nil, &u, time.Now())
					rtp, _ := packets(t, out)
					for i, p := range rtp {
						if round < rounds && len(rtp) > 2 && i == len(rtp)/2 && random.IntN(4) == 0 {
							lost++
							continue
						}
						if err := x.Push(mem.Wrap(bytes.Clone(p), nil), time.Now()); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			l := x.Losses()
			if lost < 5 || int(l.Packets) != lost || int(l.Units) > 2*lost || got < sent-2*lost-2 || got > sent-lost/2 {
				t.Errorf("%d units of %d with %d packets lost; counted %+v", got, sent, lost, l)
			}
		})
	}
}

func TestSoundHasTimestampsOfSamples(t *testing.T) {
	aac, _ := au.NewAACConfig([]byte{0x12, 0x10})
	f, _ := NewFormat(aac)
	m := NewMuxer([]Format{f})
	var before uint32
	for i := range 1000 {
		u := au.Unit{Codec: flv.CodecAAC, Config: aac, Time: uint32(i * 1024 * 1000 / 44100), Parts: [][]byte{{1, 2, 3}}}
		if i >= 500 {
			u.Time += 300 // a hole
		}
		out, err := m.Append(nil, &u, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		rtp, _ := packets(t, out)
		at := binary.BigEndian.Uint32(rtp[0][4:])
		if i > 0 && i != 500 && at-before != 1024 || i == 500 && (at-before < 1024+300*44-100 || at-before > 1024+300*45) {
			t.Fatalf("frame %d is %d samples behind the one before", i, at-before)
		}
		before = at
	}
}

func TestHostilePackets(t *testing.T) {
	for _, c := range configs(t) {
		f, _ := NewFormat(c)
		random := rand.New(rand.NewPCG(sluicetest.Seed(t), 3))
		alloc := mem.New(mem.Options{})
		sluicetest.NoLeaks(t, alloc)
		x := NewCollector(f, alloc, 1<<16, func(s Sample) error { s.Packed.Release(); return nil })
		for i := range 3000 {
			p := make([]byte, random.IntN(60))
			for i := range p {
				p[i] = byte(random.Uint32())
			}
			if len(p) > 3 {
				p[0], p[1] = 0x80, f.PayloadType|p[1]&0x80
				binary.BigEndian.PutUint16(p[2:], uint16(i+random.IntN(3)))
			}
			b := alloc.Get(len(p) + 1)
			one := b.RetainedSlice(0, len(p))
			copy(one.Bytes(), p)
			b.Release()
			if err := x.Push(one, time.Now()); err != nil {
				break // a unit without an end
			}
			x.Control(p, time.Now())
		}
		x.Report(time.Now())
		x.Close()
		if n := alloc.Stats().OutBytes; n > 0 {
			t.Errorf("%v: %d bytes are still out", c.Codec, n)
		}
	}
}

func TestUnitWithoutAnEndIsBounded(t *testing.T) {
	f, _ := NewFormat(configs(t)[0])
	x := NewCollector(f, mem.Default(), 1<<20, func(s Sample) error { s.Packed.Release(); return nil })
	defer x.Close()
	p := make([]byte, 1400)
	p[0], p[1] = 0x80, f.PayloadType
	sent := 0
	for i := range 2000 {
		binary.BigEndian.PutUint16(p[2:], uint16(i))
		p[12], p[13] = 28, 5
		if i == 0 {
			p[13] |= 0x80
		}
		if err := x.Push(mem.Wrap(bytes.Clone(p), nil), time.Now()); err != nil {
			break
		}
		sent += len(p)
	}
	if sent > 1<<20+1<<16 {
		t.Errorf("%d bytes were taken", sent)
	}
}

func TestDescriptionsThereAndBack(t *testing.T) {
	for _, c := range configs(t) {
		f, err := NewFormat(c)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Describe("live/s", false, []Format{f})
		if err != nil {
			t.Fatal(err)
		}
		tracks, err := Parse(p)
		if err != nil || len(tracks) != 1 || tracks[0].Err != nil {
			t.Fatalf("%v, %v in\n%s", err, tracks, p)
		}
		got := tracks[0].Format
		if got.Codec != f.Codec || got.Clock != f.Clock || got.PayloadType != f.PayloadType || got.Video != f.Video || got.Control != TrackPath(0) || got.sizeBits != f.sizeBits {
			t.Errorf("%+v, want %+v", got, f)
		}
		if len(c.Record) > 0 && (got.Config == nil || !bytes.Equal(got.Config.Record, c.Record)) {
			t.Errorf("%v: %+v", c.Codec, got.Config)
		}
	}
	if _, err := NewFormat(&au.Config{Codec: flv.CodecFLAC, Rate: 48000}); err == nil {
		t.Error("FLAC has a format")
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range configs(f) {
		format, _ := NewFormat(c)
		p, _ := Describe("live/s", false, []Format{format})
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		tracks, err := Parse(p)
		if err != nil {
			return
		}
		if len(tracks) > MaxTracks {
			t.Fatalf("%d tracks", len(tracks))
		}
		for _, track := range tracks {
			if track.Err == nil && !track.Video && track.Config == nil {
				t.Fatalf("%+v", track)
			}
		}
	})
}

func FuzzCollect(f *testing.F) {
	f.Add(uint8(255), []byte{0, 4, 3, 1, 2, 3, 0, 3, 200, 1, 2})
	f.Add(uint8(0), []byte{0, 4, 0x67, 1, 2, 3, 0, 3, 28, 0x85, 1, 0, 3, 28, 0x45, 1})
	f.Add(uint8(2), []byte{0, 4, 0x18, 0x32, 1, 2})
	f.Add(uint8(4), []byte{0, 6, 0, 16, 0, 16, 1, 2})
	f.Add(uint8(4), []byte{0x80, 14, 0, 16, 0, 80, 0xff, 0xf1, 0x50, 0x80, 1, 0x5f, 0xfc, 1, 2, 3})                                        // ADTS
	f.Add(uint8(0), []byte{0x80, 12, 0, 0, 1, 0x67, 1, 2, 3, 0, 0, 1, 0x68, 4, 0x80, 6, 28, 0x85, 0, 0, 1, 0x41, 0x80, 4, 28, 0x45, 0, 0}) // start codes
	f.Add(uint8(0), []byte{0x80, 3, 0x67, 1, 2, 0x84, 3, 0x68, 3, 4, 0x84, 4, 0x65, 1, 2, 3, 0x84, 3, 31, 0, 0})                           // sets that are marked, a reserved type
	f.Fuzz(func(t *testing.T, which uint8, p []byte) {
		all := configs(t)
		format, err := NewFormat(all[int(which)%len(all)])
		if err != nil {
			t.Fatal(err)
		}
		if which == 255 {
			format, err = ParseFormat(false, 97, "MP4A-LATM/44100", map[string]string{"cpresent": "0", "config": latmConfig})
			if err != nil {
				t.Fatal(err)
			}
		}
		alloc := mem.New(mem.Options{})
		sluicetest.NoLeaks(t, alloc)
		out, in := 0, 0
		x := NewCollector(format, alloc, 1<<16, func(s Sample) error {
			out += s.Packed.Len() - au.Room
			s.Packed.Release()
			return nil
		})
		defer x.Close()
		for n := uint16(0); len(p) > 2; n++ {
			size := min(int(p[1]), len(p)-2)
			b := alloc.Get(headerLen + size)
			q := b.Bytes()
			clear(q[:headerLen])
			q[0], q[1] = 0x80, format.PayloadType|p[0]&0x80
			binary.BigEndian.PutUint16(q[2:], n+uint16(p[0]&3))
			q[7] = p[0] >> 2 & 3
			copy(q[headerLen:], p[2:2+size])
			p = p[2+size:]
			in += size
			if x.Push(b, time.Unix(0, 0)) != nil {
				return
			}
		}
		if out > packedExtra*(in+1) {
			t.Fatalf("%d bytes of %d", out, in)
		}
	})
}
