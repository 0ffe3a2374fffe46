package rtpmedia

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// clipUnits are the units of a clip of H.264 and AAC.
func clipUnits(t testing.TB, yield func(*au.Unit)) {
	t.Helper()
	var s au.Splitter
	for p := flvclip.File[13:]; len(p) >= flv.TagHeaderLen; {
		n := int(p[1])<<16 | int(p[2])<<8 | int(p[3])
		at := uint32(p[4])<<16 | uint32(p[5])<<8 | uint32(p[6])
		u, ok, err := s.Split(flv.TagType(p[0]), at, p[flv.TagHeaderLen:flv.TagHeaderLen+n])
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			yield(&u)
		}
		p = p[flv.TagHeaderLen+n+flv.PrevTagSizeLen:]
	}
}

// A seen unit is what is compared.
type seen struct {
	video, key bool
	decoded    int64 // ms
	shown      int64
	sum        uint64
}

func sum(parts [][]byte, codec flv.FourCC, video bool) uint64 {
	h := uint64(14695981039346656037)
	for _, p := range parts {
		if video && au.IsSet(codec, p) {
			continue
		}
		for _, b := range p {
			h = (h ^ uint64(b)) * 1099511628211
		}
	}
	return h
}

// What a Muxer sends and an Intake takes is the same stream, with pictures in the order
// in which they are decoded and sound beside them, although RTP does not say when a
// picture is decoded.
func TestAClipOverRTPIsTheSame(t *testing.T) {
	t.Run("reports first", func(t *testing.T) { testClip(t, 0) })
	// As over UDP, where they have a socket of their own.
	t.Run("reports later", func(t *testing.T) { testClip(t, 14) })
}

// testClip has the first reports come behind so many packets, and sound later than it is
// to be heard.
func testClip(t *testing.T, behind int) {
	alloc := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, alloc)
	var want []seen
	configs := map[bool]*au.Config{}
	clipUnits(t, func(u *au.Unit) {
		configs[u.Video] = u.Config
		want = append(want, seen{u.Video, u.Key, int64(u.Time), int64(u.Time) + int64(u.Offset), sum(u.Parts, u.Codec, u.Video)})
	})
	var formats []Format
	var tracks []Track
	for i, video := range []bool{true, false} {
		f, err := NewFormat(configs[video])
		if err != nil {
			t.Fatal(err)
		}
		f.Channel = uint8(2 * i)
		formats, tracks = append(formats, f), append(tracks, Track{Format: f})
	}
	var s au.Splitter
	var got []seen
	headers, scripts := 0, 0
	x, err := NewIntake(tracks, alloc, 1<<20, func(f live.Frame) error {
		defer f.Payload.Release()
		if f.Type == flv.TagScript {
			scripts++
			return nil
		}
		u, ok, err := s.Split(f.Type, f.Time, f.Payload.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			headers++
			return nil
		}
		got = append(got, seen{u.Video, u.Key, int64(u.Time), int64(u.Time) + int64(u.Offset), sum(u.Parts, u.Codec, u.Video)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	m := NewMuxer(formats)
	count, reports := 0, [2][]byte{}
	clipUnits(t, func(u *au.Unit) {
		out, err := m.Append(nil, u, time.Unix(1e9, 0))
		if err != nil {
			t.Fatal(err)
		}
		for len(out) > 0 {
			n := u16(out[2:])
			p := out[4 : 4+n]
			now := time.Unix(2e9, int64(u.Time)*1e6)
			if behind > 0 && !u.Video {
				now = now.Add(40 * time.Millisecond)
			}
			if out[1]%2 == 0 {
				count++
			}
			for i, r := range reports {
				if r != nil && count > behind {
					x.Control(i, r, now)
					reports[i] = nil
				}
			}
			if out[1]%2 == 1 && count < behind {
				reports[out[1]/2] = bytes.Clone(p)
			} else if out[1]%2 == 1 {
				x.Control(int(out[1]/2), p, now)
			} else if err := x.Push(int(out[1]/2), mem.Wrap(bytes.Clone(p), nil), now); err != nil {
				t.Fatal(err)
			}
			out = out[4+n:]
		}
	})
	if headers != 2 || scripts != 1 || x.Losses() != (Losses{}) {
		t.Errorf("%d headers, %d metadata, %+v", headers, scripts, x.Losses())
	}
	kind := func(list []seen, video bool) []seen {
		return slices.DeleteFunc(slices.Clone(list), func(s seen) bool { return s.video != video })
	}
	// Sound tells the difference of the clocks.
	shift := kind(got, false)[0].shown - kind(want, false)[0].shown
	for _, video := range []bool{true, false} {
		g, w := kind(got, video), kind(want, video)
		if len(g) != len(w) {
			t.Fatalf("video %v: %d units, want %d", video, len(g), len(w))
		}
		for i := range g {
			d := g[i].shown - shift - w[i].shown
			if g[i].sum != w[i].sum || g[i].key != w[i].key || d < -1 || d > 1 {
				t.Fatalf("video %v: unit %d is %+v, want %+v and %d ms", video, i, g[i], w[i], shift)
			}
			if i > 0 && g[i].decoded < g[i-1].decoded || g[i].decoded > g[i].shown {
				t.Fatalf("video %v: unit %d is decoded at %d ms after %d, and shown at %d", video, i, g[i].decoded, g[i-1].decoded, g[i].shown)
			}
			// How far ahead of being shown pictures are decoded is the encoder's choice, and RTP
			// does not say it: no earlier than there, and not much later.
			if e := g[i].decoded - shift - w[i].decoded; e < -1 || e > 80 {
				t.Fatalf("video %v: unit %d is decoded at %d ms, want %d", video, i, g[i].decoded-shift, w[i].decoded)
			}
		}
	}
}

// Sound that comes is known before the first key frame, although its first packet comes behind that, and sound that is
// only described is not.
func TestSoundThatComesIsAnnouncedBeforeTheFirstKeyFrame(t *testing.T) {
	var video, audio *au.Config
	clipUnits(t, func(u *au.Unit) {
		if u.Video {
			video = u.Config
		} else {
			audio = u.Config
		}
	})
	picture, err := NewFormat(video)
	if err != nil {
		t.Fatal(err)
	}
	sound, err := NewFormat(audio)
	if err != nil {
		t.Fatal(err)
	}
	sound.Channel = 2
	key := au.Unit{Video: true, Codec: video.Codec, Config: video, Key: true, Parts: [][]byte{{0x65, 1, 2}}}
	one := au.Unit{Codec: audio.Codec, Config: audio, Key: true, Parts: [][]byte{{1, 2, 3}}}
	for name, c := range map[string]struct {
		report, held bool // of sound
		want         string
	}{"a report": {true, false, "script video audio video "}, "a packet": {false, true, "script video audio video audio "}, "neither": {false, false, "script video video "}} {
		t.Run(name, func(t *testing.T) {
			alloc := mem.New(mem.Options{})
			sluicetest.NoLeaks(t, alloc)
			got := ""
			x, err := NewIntake([]Track{{Format: picture}, {Format: sound}}, alloc, 1<<20, func(f live.Frame) error {
				got += f.Type.String() + " "
				f.Payload.Release()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			now := time.Unix(1e9, 0)
			send := func(u *au.Unit, packets bool) {
				out, err := NewMuxer([]Format{picture, sound}).Append(nil, u, now)
				if err != nil {
					t.Fatal(err)
				}
				for len(out) > 0 {
					n := 4 + u16(out[2:])
					track, report := int(out[1]/2), out[1]%2 == 1
					switch p := bytes.Clone(out[4:n]); {
					case report && (track == 0 || c.report):
						x.Control(track, p, now)
					case !report && packets:
						if err := x.Push(track, mem.Wrap(p, nil), now); err != nil {
							t.Fatal(err)
						}
					}
					out = out[n:]
				}
			}
			send(&key, true)
			send(&one, c.held)
			now = now.Add(openingTime) // what is held goes on
			key.Time += 40
			send(&key, true)
			if len(got) < len(c.want) || got[:len(c.want)] != c.want {
				t.Errorf("published %q, want %q", got, c.want)
			}
		})
	}
}

// Without reports the first packets wait for openingTime, or until there are too many.
func TestIntakeWaitsForReports(t *testing.T) {
	for _, every := range []time.Duration{openingTime / 10, time.Microsecond} {
		alloc := mem.New(mem.Options{})
		sluicetest.NoLeaks(t, alloc)
		sound, _ := NewFormat(au.NewPlainConfig(flv.CodecMuLaw, 8000, 1))
		picture := Format{Video: true, Codec: flv.CodecVP9, PayloadType: 96, Clock: videoClock}
		frames := 0
		x, err := NewIntake([]Track{{Format: picture}, {Format: sound}}, alloc, 1<<20, func(f live.Frame) error {
			frames++
			f.Payload.Release()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		m := NewMuxer([]Format{sound})
		began := time.Unix(1e9, 0)
		packet := 0
		for ; frames == 0 && packet < 2*maxHeld; packet++ {
			u := au.Unit{Codec: sound.Codec, Config: sound.Config, Time: uint32(20 * packet), Parts: [][]byte{make([]byte, 160)}}
			out, _ := m.Append(nil, &u, began)
			rtp, _ := packets(t, out)
			b := alloc.Get(len(rtp[0]))
			copy(b.Bytes(), rtp[0])
			if err := x.Push(1, b, began.Add(time.Duration(packet)*every)); err != nil {
				t.Fatal(err)
			}
		}
		// What comes when it is over brings the others along, behind the metadata.
		if want := min(int(openingTime/every), maxHeld) + 1; packet != want || frames != want+1 {
			t.Errorf("%d packets and %d frames, want %d", packet, frames, want)
		}
		x.Close()
		// What is held is released.
		if x, err = NewIntake([]Track{{Format: picture}, {Format: sound}}, alloc, 1<<20, nil); err != nil {
			t.Fatal(err)
		}
		b := alloc.Get(20)
		clear(b.Bytes())
		if err := x.Push(1, b, began); err != nil {
			t.Fatal(err)
		}
		x.Close()
	}
}

func TestIntakeEndsWithItsPublisher(t *testing.T) {
	alloc := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, alloc)
	f, _ := NewFormat(au.NewPlainConfig(flv.CodecMuLaw, 8000, 1))
	gone := errors.New("gone")
	x, err := NewIntake([]Track{{Format: f}}, alloc, 1<<20, func(f live.Frame) error { f.Payload.Release(); return gone })
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	m := NewMuxer([]Format{f})
	for i := range 3 {
		u := au.Unit{Codec: f.Codec, Config: f.Config, Time: uint32(20 * i), Parts: [][]byte{make([]byte, 160)}}
		out, _ := m.Append(nil, &u, time.Now())
		rtp, _ := packets(t, out)
		b := alloc.Get(len(rtp[0]))
		copy(b.Bytes(), rtp[0])
		if err := x.Push(0, b, time.Now()); err != gone {
			t.Errorf("packet %d: %v", i, err)
		}
	}
	if _, err := NewIntake([]Track{{Err: ErrCodec}}, alloc, 1, nil); !errors.Is(err, ErrCodec) {
		t.Errorf("an intake of nothing: %v", err)
	}
}

// Where a sender's clock is set back its stream goes on, and its tracks stay together.
func TestTimestampsThatAreSetBack(t *testing.T) {
	for _, back := range []time.Duration{time.Minute, time.Hour, 6 * time.Hour} {
		alloc := mem.New(mem.Options{})
		sluicetest.NoLeaks(t, alloc)
		picture, _ := NewFormat(configs(t)[3])
		sound, _ := NewFormat(au.NewOpusConfig(2))
		var s au.Splitter
		var times [2][]uint32
		x, err := NewIntake([]Track{{Format: picture}, {Format: sound}}, alloc, 1<<20, func(f live.Frame) error {
			defer f.Payload.Release()
			if u, ok, _ := s.Split(f.Type, f.Time, f.Payload.Bytes()); ok && u.Video {
				times[0] = append(times[0], u.Time)
			} else if ok {
				times[1] = append(times[1], u.Time)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Unix(1e9, 0)
		for i := range 1000 { // 20 s
			at := time.Duration(i) * 20 * time.Millisecond
			stamp := at
			if i >= 500 {
				stamp -= back
			}
			for track, f := range []Format{picture, sound} {
				payload := []byte{0x88, 0x82, 0x49, 0x83, 0x42, 0, 0x77, 0xf0, 0x32, 0x34} // a key frame of VP9
				if track == 1 {
					payload = []byte{0xfc, 1, 2}
				} else if i%2 == 1 {
					continue
				}
				p := make([]byte, headerLen)
				p[0], p[1] = 0x80, f.PayloadType|0x80
				if track == 0 {
					payload[0] = 0x0c // begins and ends
				}
				binary.BigEndian.PutUint16(p[2:], uint16(i/(2-track)))
				binary.BigEndian.PutUint32(p[4:], uint32(int64(stamp)*int64(f.Clock)/int64(time.Second)))
				// Some packets come late.
				now := began.Add(at + time.Duration(i*7919%30)*time.Millisecond)
				if err := x.Push(track, mem.Wrap(append(p, payload...), nil), now); err != nil {
					t.Fatal(err)
				}
			}
		}
		x.Close()
		for track, list := range times {
			if want := []int{500, 1000}[track]; len(list) < want-60 {
				t.Fatalf("%v: track %d has %d units, want %d", back, track, len(list), want)
			}
			for i := range list {
				if i > 0 && (int32(list[i]-list[i-1]) < 0 || list[i]-list[i-1] > 200) {
					t.Fatalf("%v: track %d: %d ms behind %d", back, track, list[i], list[i-1])
				}
			}
		}
		before := int32(times[0][100] - times[1][200])
		if after := int32(times[0][len(times[0])-1] - times[1][len(times[1])-1]); after-before > 60 || before-after > 60 {
			t.Errorf("%v: picture is %d ms behind sound, and was %d", back, after, before)
		}
	}
}

// VP9 says the size in each key frame, and its configuration does not.
func TestIntakeSizeOfVP9(t *testing.T) {
	alloc := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, alloc)
	var width, height float64
	x, err := NewIntake([]Track{{Format: Format{Video: true, Codec: flv.CodecVP9, PayloadType: 96, Clock: videoClock}}}, alloc, 1<<20, func(f live.Frame) error {
		defer f.Payload.Release()
		if f.Type == flv.TagScript {
			_, values, err := flv.ParseScript(f.Payload.Bytes())
			if err != nil {
				return err
			}
			width, height = amf0.Properties(values[0]).Number("width"), amf0.Properties(values[0]).Number("height")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Unix(1e9, 0)
	for i := range 2 {
		p := append(make([]byte, headerLen), 0x0c, 0x82, 0x49, 0x83, 0x42, 0, 0x77, 0xf0, 0x32, 0x34) // a key frame
		p[0], p[1], p[3] = 0x80, 96|0x80, byte(i)
		binary.BigEndian.PutUint32(p[4:], uint32(i*videoClock))
		if err := x.Push(0, mem.Wrap(p, nil), began.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	x.Close()
	if width != 1920 || height != 804 {
		t.Errorf("the metadata says %vx%v", width, height)
	}
}
