package au

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Parameter sets that x265 3.5 has made, for pictures of 160x120, and the record that
// ffmpeg 5.1 makes of them, up to its arrays; a record of AV1 that ffmpeg makes.
const (
	hevcVPSHex  = "40010c01ffff0408000003009e0800000300001e959809"
	hevcSPSHex  = "4201010408000003009e0800000300001e9002840f2cb2b349265780b70202000400000300040000030028" + "20"
	hevcPPSHex  = "4401c172860c462427"
	hevcHeadHex = "0104080000009e08000000001ef000fcfff8f80000"
	av1Hex      = "812000000a0d20000003b4ff736be480868010"
)

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	p, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pack packs a unit as Joiner.Frame takes it.
func pack(u *Unit) mem.Buf {
	p := make([]byte, Room)
	switch u.Codec {
	case flv.CodecAVC, flv.CodecHEVC:
		p = AppendLengths(p, u.Parts)
	default:
		for _, part := range u.Parts {
			p = append(p, part...)
		}
	}
	return mem.Wrap(p, nil)
}

// clip yields the tags of a file of H.264 and AAC.
func clip(yield func(flv.TagType, uint32, []byte)) {
	for p := flvclip.File[13:]; len(p) >= flv.TagHeaderLen; {
		size := int(p[1])<<16 | int(p[2])<<8 | int(p[3])
		at := uint32(p[4])<<16 | uint32(p[5])<<8 | uint32(p[6]) | uint32(p[7])<<24
		yield(flv.TagType(p[0]), at, p[flv.TagHeaderLen:flv.TagHeaderLen+size])
		p = p[flv.TagHeaderLen+size+flv.PrevTagSizeLen:]
	}
}

func TestAClipThereAndBackIsTheSame(t *testing.T) {
	var s Splitter
	var j Joiner
	pictures, sounds, keys := 0, 0, 0
	clip(func(typ flv.TagType, at uint32, body []byte) {
		u, ok, err := s.Split(typ, at, body)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return
		}
		if u.Config == nil || u.Time != at || u.Video != (typ == flv.TagVideo) {
			t.Fatalf("%+v", u)
		}
		if header, new := j.Header(u.Config, at); new {
			var again Splitter
			again.Split(header.Type, header.Time, header.Payload.Bytes())
			if v, a := again.Configs(); (v == nil) == (a == nil) {
				t.Errorf("a header of %v is not read again", u.Codec)
			}
			header.Payload.Release()
		}
		f, err := j.Frame(&u, pack(&u))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(f.Payload.Bytes(), body) || f.Type != typ || f.Time != at {
			t.Fatalf("%v at %d ms: % x..., want % x...", typ, at, f.Payload.Bytes()[:16], body[:16])
		}
		f.Payload.Release()
		switch {
		case !u.Video:
			sounds++
		case u.Key:
			keys++
			fallthrough
		default:
			pictures++
		}
	})
	if pictures < 100 || sounds < 100 || keys < 2 {
		t.Errorf("%d pictures, %d of them keys, and %d frames of sound", pictures, keys, sounds)
	}
}

func TestRecordIsMadeOfItsSets(t *testing.T) {
	var s Splitter
	clip(func(typ flv.TagType, at uint32, body []byte) { s.Split(typ, at, body) })
	video, audio := s.Configs()
	made, err := NewVideoConfig(flv.CodecAVC, video.Sets)
	if err != nil || !bytes.Equal(made.Record, video.Record) {
		t.Errorf("%v\n% x\n% x", err, made.Record, video.Record)
	}
	if audio.Rate != 48000 && audio.Rate != 44100 || audio.Samples(nil) != 1024 || audio.Duration(nil) == 0 {
		t.Errorf("%+v", audio)
	}
	hevc, err := NewVideoConfig(flv.CodecHEVC, [][]byte{unhex(t, hevcPPSHex), unhex(t, hevcSPSHex), unhex(t, hevcVPSHex)})
	if err != nil {
		t.Fatal(err)
	}
	if want := unhex(t, hevcHeadHex); !bytes.Equal(hevc.Record[:13], want[:13]) || !bytes.Equal(hevc.Record[13:21], want[13:21]) {
		t.Errorf("% x, want % x", hevc.Record[:21], want)
	}
	if len(hevc.Sets) != 3 || NALType(flv.CodecHEVC, hevc.Sets[0]) != hevcVPS || NALType(flv.CodecHEVC, hevc.Sets[2]) != hevcPPS {
		t.Errorf("% x", hevc.Sets)
	}
	want := unhex(t, av1Hex)
	av1, err := NewAV1Config(want[4:])
	if err != nil || !bytes.Equal(av1.Record, want) {
		t.Errorf("%v: % x, want % x", err, av1.Record, want)
	}
}

func TestUnitsOfEveryCodec(t *testing.T) {
	hevc, err := NewVideoConfig(flv.CodecHEVC, [][]byte{unhex(t, hevcVPSHex), unhex(t, hevcSPSHex), unhex(t, hevcPPSHex)})
	if err != nil {
		t.Fatal(err)
	}
	av1, err := ParseConfig(flv.CodecAV1, unhex(t, av1Hex))
	if err != nil {
		t.Fatal(err)
	}
	mp3 := append([]byte{0xff, 0xfb, 0x90, 0xc0}, make([]byte, 413)...)
	for _, u := range []Unit{
		{Video: true, Codec: flv.CodecHEVC, Config: hevc, Offset: 80, Parts: [][]byte{{0x26, 1, 2}, {0x02, 1, 5, 6}}, Key: true},
		{Video: true, Codec: flv.CodecHEVC, Config: hevc, Parts: [][]byte{{0x02, 1, 5, 6}}},
		{Video: true, Codec: flv.CodecAV1, Config: av1, Parts: [][]byte{{0x32, 2, 8, 9}}},
		{Video: true, Codec: flv.CodecVP9, Config: &Config{Codec: flv.CodecVP9, Record: make([]byte, 12)}, Parts: [][]byte{{0x82, 1}}, Key: true},
		{Codec: flv.CodecOpus, Config: NewOpusConfig(2), Parts: [][]byte{{0xfc, 1, 2}}, Key: true},
		{Codec: flv.CodecALaw, Config: NewPlainConfig(flv.CodecALaw, 8000, 1), Parts: [][]byte{make([]byte, 160)}, Key: true},
		{Codec: flv.CodecMuLaw, Config: NewPlainConfig(flv.CodecMuLaw, 8000, 1), Parts: [][]byte{make([]byte, 160)}, Key: true},
		{Codec: flv.CodecMP3, Config: &Config{Codec: flv.CodecMP3, Rate: 44100, Channels: 1, FrameLen: 1152}, Parts: [][]byte{mp3}, Key: true},
	} {
		var j Joiner
		var s Splitter
		if f, ok := j.Header(u.Config, 7); ok {
			if _, ok, err := s.Split(f.Type, f.Time, f.Payload.Bytes()); ok || err != nil {
				t.Errorf("%v: header: %v, %v", u.Codec, ok, err)
			}
			f.Payload.Release()
		}
		if f, ok := j.Header(u.Config, 8); ok {
			t.Errorf("%v: a second header", u.Codec)
			f.Payload.Release()
		}
		u.Time = 1234
		f, err := j.Frame(&u, pack(&u))
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := s.Split(f.Type, f.Time, f.Payload.Bytes())
		if err != nil || !ok || !slices.EqualFunc(got.Parts, u.Parts, bytes.Equal) || got.Time != u.Time || got.Offset != u.Offset || got.Key != u.Key || got.Codec != u.Codec {
			t.Errorf("%v: %v, %v\n%+v\n%+v", u.Codec, ok, err, got, u)
		}
		if got.Config == nil || got.Config.Rate != u.Config.Rate || got.Config.Channels != u.Config.Channels || got.Config.FrameLen != u.Config.FrameLen {
			t.Errorf("%v: %+v, want %+v", u.Codec, got.Config, u.Config)
		}
		f.Payload.Release()
	}
}

// Of several tracks the one with the lowest number is taken, whatever that is.
func TestTheLowestTrackIsTaken(t *testing.T) {
	opus := func(track byte, packet flv.AudioPacketType, body string) []byte {
		h := flv.AudioHeader{Codec: flv.CodecOpus, Packet: packet, Enhanced: true}
		h.Tracks, h.Track = flv.TrackOne, track
		return append(h.Append(nil), body...)
	}
	head := string(NewOpusConfig(2).Record)
	var s Splitter
	for _, c := range []struct {
		track byte
		taken bool
	}{{5, true}, {7, false}, {5, true}, {2, true}, {5, false}, {0, true}, {2, false}} {
		if _, ok, err := s.Split(flv.TagAudio, 0, opus(c.track, flv.AudioSequenceStart, head)); ok || err != nil {
			t.Fatal(err)
		}
		u, ok, err := s.Split(flv.TagAudio, 20, opus(c.track, flv.AudioCodedFrames, "\xfc12"))
		if ok != c.taken || err != nil || ok && u.Config == nil {
			t.Errorf("track %d: taken %v, %v", c.track, ok, err)
		}
	}
}

func TestSamplesOfAFrame(t *testing.T) {
	for _, c := range []struct {
		config *Config
		frame  []byte
		want   int
	}{
		{NewOpusConfig(2), []byte{0xfc, 0, 0}, 960}, // 20 ms, one frame
		{NewPlainConfig(flv.CodecMuLaw, 8000, 1), make([]byte, 160), 160},
		{NewPlainConfig(flv.CodecAC3, 48000, 2), nil, 1536},
	} {
		if got := c.config.Samples(c.frame); got != c.want {
			t.Errorf("%v: %d samples, want %d", c.config.Codec, got, c.want)
		}
	}
}

func TestInBandSets(t *testing.T) {
	var s Splitter
	clip(func(typ flv.TagType, at uint32, body []byte) { s.Split(typ, at, body) })
	video, _ := s.Configs()
	b := InBand{Codec: flv.CodecAVC}
	if changed, key := b.Learn([][]byte{{0x65, 1}}); changed || !key || b.Config() != nil {
		t.Error("a picture without sets has a configuration")
	}
	if changed, _ := b.Learn(video.Sets); !changed || !bytes.Equal(b.Config().Record, video.Record) {
		t.Errorf("%+v", b.Config())
	}
	if changed, key := b.Learn(append(slices.Clone(video.Sets), []byte{0x41, 2})); changed || key {
		t.Error("the same sets again are a change, or the picture a key")
	}
	other := append(slices.Clone(video.Sets[1]), 0x80)
	if changed, _ := b.Learn([][]byte{other}); !changed || len(b.Config().Sets) != 2 || !bytes.Equal(b.Config().Sets[1], other) {
		t.Errorf("a set of the same id does not replace the first: % x", b.Config().Sets)
	}
}

// A stream may have several sequence parameter sets at a time. One that comes alone takes the place of all: it
// may have another id where the size has changed.
func TestInBandSetsOfSeveralSizes(t *testing.T) {
	first, second := []byte("\x67\x42\xc0\x1e\xda\x02\x80\xbf\xe5\xc0\x44\x00\x00\x03\x00\x04\x00\x00\x03\x00\xc8\x3c\x58\xba\x80"), []byte("\x67\x42\xc0\x1e\x56\x80\xa0\x2f\xf9\x70\x11\x00\x00\x03\x00\x01\x00\x00\x03\x00\x32\x0f\x16\x2e\xa0")
	picture, other := []byte("\x68\xce\x0f\xc8"), []byte("\x68\x53\x83\xf2")
	b := InBand{Codec: flv.CodecAVC}
	both := [][]byte{first, second, picture, other}
	b.Start(both)
	if c := b.Config(); c == nil || !slices.EqualFunc(c.Sets, both, bytes.Equal) {
		t.Fatalf("%+v, want % x", c, both)
	}
	if changed, key := b.Learn(append(slices.Clone(both), []byte{0x65, 1})); changed || !key {
		t.Error("the same sets again are a change, or the picture is none to start at")
	}
	want := [][]byte{second, picture, other}
	if changed, _ := b.Learn([][]byte{second, other}); !changed || !slices.EqualFunc(b.Config().Sets, want, bytes.Equal) {
		t.Errorf("% x, want % x", b.Config().Sets, want)
	}
}

func TestHostileFrames(t *testing.T) {
	huge := []byte{0x17, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1}
	many := []byte{0x17, 1, 0, 0, 0}
	for range MaxUnits + 1 {
		many = append(many, 0, 0, 0, 1, 9)
	}
	for name, body := range map[string][]byte{
		"a length beyond the frame": huge,
		"half a length":             {0x17, 1, 0, 0, 0, 0, 0},
		"too many units":            many,
		"a record cut off":          {0x17, 0, 0, 0, 0, 1, 0x64, 0, 0x1f, 0xff, 0xe1, 0xff, 0xff},
		"an OBU beyond the frame":   {0x91, 'a', 'v', '0', '1', 0x32, 0xff, 0xff, 0x7f},
	} {
		var s Splitter
		if u, ok, err := s.Split(flv.TagVideo, 0, body); ok || err == nil {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
		if _, ok, err := s.Split(flv.TagVideo, 0, []byte{0x17, 1, 0, 0, 0, 0, 0, 0, 1, 0x65}); !ok || err != nil {
			t.Errorf("after %s: %v, %v", name, ok, err)
		}
	}
}

// A frame of units of a byte each is refused before there are views of them all, which would have a dozen
// times its memory, and stay in each Splitter.
func TestFramesOfTinyUnitsTakeNoMemory(t *testing.T) {
	const units = 40 * MaxUnits
	for name, body := range map[string][]byte{
		"units of H.264": append([]byte{0x17, 1, 0, 0, 0}, bytes.Repeat([]byte{0, 0, 0, 1, 9}, units)...),
		"OBUs":           append([]byte{0x91, 'a', 'v', '0', '1'}, bytes.Repeat([]byte{0x32, 0}, units)...),
	} {
		var s Splitter
		if _, ok, err := s.Split(flv.TagVideo, 0, body); ok || !errors.Is(err, ErrSyntax) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		if n := cap(s.parts); n > 2*MaxUnits {
			t.Errorf("%s: %d views of units are kept, at most %d are taken", name, n, MaxUnits)
		}
	}
}

func TestFrameOfMemoryIsReturned(t *testing.T) {
	alloc := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, alloc)
	var j Joiner
	b := alloc.Get(Room + 3)
	u := Unit{Codec: flv.CodecOpus, Parts: [][]byte{{1, 2, 3}}}
	if _, err := j.Frame(&u, b); err == nil {
		t.Error("sound without a configuration")
	}
	u.Config = NewOpusConfig(2)
	f, err := j.Frame(&u, alloc.Get(Room+3))
	if err != nil {
		t.Fatal(err)
	}
	f.Payload.Release()
	u = Unit{Video: true, Codec: flv.CodecHEVC, Offset: 1 << 24}
	if _, err := j.Frame(&u, alloc.Get(Room+3)); err == nil {
		t.Error("an offset that FLV cannot carry")
	}
}

func FuzzSplit(f *testing.F) {
	clip(func(typ flv.TagType, at uint32, body []byte) {
		if at < 100 {
			f.Add(byte(typ), body)
		}
	})
	f.Add(byte(flv.TagVideo), append([]byte{0x90, 'a', 'v', '0', '1'}, unhex(f, av1Hex)...))
	f.Add(byte(flv.TagAudio), append([]byte{0x90, 'O', 'p', 'u', 's'}, NewOpusConfig(2).Record...))
	f.Fuzz(func(t *testing.T, typ byte, body []byte) {
		var s Splitter
		var j Joiner
		u, ok, err := s.Split(flv.TagType(typ), 5, body)
		if err != nil || !ok {
			return
		}
		if u.Size() > len(body) {
			t.Fatalf("%d bytes of %d", u.Size(), len(body))
		}
		if u.Config != nil {
			u.Config.Samples(u.Parts[0])
		} else if !u.Video {
			return
		}
		if h, err := flv.ParseVideo(body); u.Video && err == nil && h.Codec == flv.CodecVP8 {
			return
		}
		frame, err := j.Frame(&u, pack(&u))
		if err != nil {
			t.Fatal(err)
		}
		again, ok, err := new(Splitter).splitAgain(frame)
		if err != nil || !ok || !slices.EqualFunc(again.Parts, u.Parts, bytes.Equal) || again.Key != u.Key {
			t.Fatalf("%v, %v\n%+v\n%+v", ok, err, again, u)
		}
	})
}

func (s *Splitter) splitAgain(f live.Frame) (Unit, bool, error) {
	return s.Split(f.Type, f.Time, f.Payload.Bytes())
}

func FuzzAnnexB(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0x67, 1, 2, 0, 0, 1, 0x68, 3})
	f.Add([]byte{0, 0, 1})
	f.Fuzz(func(t *testing.T, p []byte) {
		units, err := SplitAnnexB(nil, p)
		if err != nil {
			return
		}
		again, err := SplitAnnexB(nil, annexB(units))
		if len(units) > 0 && err != nil || !slices.EqualFunc(units, again, bytes.Equal) {
			t.Fatalf("%v: % x, then % x", err, units, again)
		}
		lengths, err := appendLengths(nil, AppendLengths(nil, units), 4)
		if err != nil || !slices.EqualFunc(units, lengths, bytes.Equal) {
			t.Fatalf("%v: % x, then % x", err, units, lengths)
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add(uint32(flv.CodecAV1), unhex(f, av1Hex))
	f.Add(uint32(flv.CodecHEVC), unhex(f, hevcHeadHex))
	f.Add(uint32(flv.CodecAVC), []byte{1, 0x42, 0, 0x1e, 0xff, 0xe1, 0, 4, 0x67, 1, 2, 3, 1, 0, 2, 0x68, 1})
	f.Fuzz(func(t *testing.T, codec uint32, p []byte) {
		c, err := ParseConfig(flv.FourCC(codec), p)
		if err != nil {
			return
		}
		if !bytes.Equal(c.Record, p) || len(c.Sets) > maxSets {
			t.Fatalf("%+v", c)
		}
		b := InBand{Codec: flv.FourCC(codec)}
		b.Learn(c.Sets)
	})
}

// A parameter set may be cut off anywhere: after its first byte too.
func TestInBandSetsThatAreCutOff(t *testing.T) {
	for _, c := range []struct {
		codec flv.FourCC
		set   []byte
	}{
		{flv.CodecAVC, []byte{0x68, 0xcb, 0x83}},
		{flv.CodecAVC, []byte{0x67, 0x64, 0x00, 0x0a}},
		{flv.CodecHEVC, []byte{0x44, 0x01, 0xc1, 0x72}},
		{flv.CodecHEVC, []byte{0x42, 0x01, 0x01, 0x01}},
		{flv.CodecHEVC, []byte{0x40, 0x01, 0x0c, 0x01}},
		{flv.CodecAV1, []byte{0x0a, 0x0b, 0x00, 0x00}},
	} {
		for n := 1; n <= len(c.set); n++ {
			b := InBand{Codec: c.codec}
			if b.Learn([][]byte{c.set[:n]}); b.Config() != nil {
				t.Errorf("%v: % x alone is a configuration", c.codec, c.set[:n])
			}
		}
	}
}

// annexB is units, each behind a start code of 4 bytes (H.264, annex B).
func annexB(units [][]byte) (p []byte) {
	for _, u := range units {
		p = append(append(p, 0, 0, 0, 1), u...)
	}
	return p
}
