package tsmedia

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/asticode/go-astits"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// station makes transport streams whose tables change, as encoders that are set anew send them.
type station struct {
	t  testing.TB
	to bytes.Buffer
	m  *astits.Muxer
	at map[uint16]int64 // of the next packet of a PID, ticks
}

// The PIDs of a station.
const (
	videoPID = 256
	audioPID = 257
	otherPID = 258
)

func newStation(t testing.TB) *station {
	s := &station{t: t, at: map[uint16]int64{}}
	s.m = astits.NewMuxer(context.Background(), &s.to)
	return s
}

// table sets the tracks by PID, 0 for none, and writes the tables.
func (s *station) table(types map[uint16]astits.StreamType) {
	s.t.Helper()
	for _, pid := range []uint16{videoPID, audioPID, otherPID} {
		s.m.RemoveElementaryStream(pid)
		if types[pid] == 0 {
			continue
		}
		if err := s.m.AddElementaryStream(astits.PMTElementaryStream{ElementaryPID: pid, StreamType: types[pid]}); err != nil {
			s.t.Fatal(err)
		}
		s.m.SetPCRPID(pid)
	}
	if _, err := s.m.WriteTables(); err != nil {
		s.t.Fatal(err)
	}
}

// write writes a packet that is so many ticks long.
func (s *station) write(pid uint16, ticks int64, body []byte) {
	s.t.Helper()
	id := uint8(0xc0)
	if pid == videoPID {
		id = 0xe0
	}
	_, err := s.m.WriteData(&astits.MuxerData{PID: pid, PES: &astits.PESData{Data: body, Header: &astits.PESHeader{
		StreamID:       id,
		OptionalHeader: &astits.PESOptionalHeader{MarkerBits: 2, PTSDTSIndicator: astits.PTSDTSIndicatorOnlyPTS, PTS: &astits.ClockReference{Base: 90_000 + s.at[pid]}},
	}}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.at[pid] += ticks
}

// read reads what was written, and returns the units, what was left out and how it ended.
func (s *station) read() (units []sample, metadata int, left []string, err error) {
	s.t.Helper()
	sluicetest.NoLeaks(s.t, nil)
	// The muxer counts anew after each table; encoders go on.
	counters := map[uint16]byte{}
	for p := range slices.Chunk(s.to.Bytes(), packetLen) {
		pid := binary.BigEndian.Uint16(p[1:]) & 0x1fff
		if p[3]&0x10 != 0 {
			counters[pid]++
		}
		p[3] = p[3]&0xf0 | counters[pid]&15
	}
	var split au.Splitter
	err = Read(&s.to, Options{Alloc: mem.Default(), MaxFrame: 1 << 20, LeftOut: func(what string) { left = append(left, what) }, Publish: func(f live.Frame) error {
		defer f.Payload.Release()
		if f.Type == flv.TagScript {
			metadata++
			return nil
		}
		u, ok, err := split.Split(f.Type, f.Time, f.Payload.Bytes())
		if err != nil {
			s.t.Error(err)
		}
		if ok {
			units = append(units, clone(&u))
		}
		return nil
	}})
	return units, metadata, left, err
}

// mp3Frame and mp2Frame are frames of MPEG-1 audio at 128 kbit/s and 44.1 kHz.
var (
	mp3Frame = append([]byte{0xff, 0xfb, 0x90, 0xc0}, make([]byte, 413)...)
	mp2Frame = append([]byte{0xff, 0xfd, 0x80, 0xc0}, make([]byte, 413)...)
)

func codecsOf(units []sample) (list []flv.FourCC) {
	for _, u := range units {
		if len(list) == 0 || list[len(list)-1] != u.codec {
			list = append(list, u.codec)
		}
	}
	return list
}

// The first frame of AAC may have a checksum, be cut off, or be nothing: that ends no publisher.
func TestSoundWhoseFirstPacketIsOdd(t *testing.T) {
	for what, first := range map[string][]byte{
		"a checksum":     adtsFrame(t, 44100, 2, true, "a body"),
		"a rest":         []byte("the rest of another frame"),
		"several blocks": several(t, true, "one", "two"),
		"a cut frame":    adtsFrame(t, 44100, 2, false, "a body")[:9],
	} {
		s := newStation(t)
		s.table(map[uint16]astits.StreamType{audioPID: astits.StreamTypeAACAudio})
		s.write(audioPID, 1920, first)
		for range 20 {
			s.write(audioPID, 1920, adtsFrame(t, 44100, 2, true, "a body"))
		}
		units, _, left, err := s.read()
		if !errors.Is(err, io.EOF) || len(units) < 19 || len(left) > 0 || string(units[5].parts[0]) != "a body" {
			t.Errorf("%s: %d units, %q left out: %v", what, len(units), left, err)
		}
	}
}

// A table may say another codec for the same PID: what comes from then on is of that, and no unit is lost.
func TestCodecThatChangesInTheTable(t *testing.T) {
	avc := slices.Concat([]byte("\x00\x00\x00\x01"), unhex(t, "6742c01fd900780227e5840000030004000003"+"00f03c60c920"), []byte("\x00\x00\x00\x01\x68\xcb\x83\xcb\x20\x00\x00\x00\x01\x65\x88\x84\x21\xa0"))
	hevc := slices.Concat([]byte("\x00\x00\x00\x01"), unhex(t, "40010c01ffff0408000003009e0800000300001e959809"),
		[]byte("\x00\x00\x00\x01"), unhex(t, "4201010408000003009e0800000300001e9002840f2cb2b349265780b7020200000400000300040000030028"+"20"),
		[]byte("\x00\x00\x00\x01"), unhex(t, "4401c172860c462427"), []byte("\x00\x00\x00\x01\x26\x01\xaf\x10\x20"))
	const each = 20
	s := newStation(t)
	for i := range 4 {
		types, picture, sound := map[uint16]astits.StreamType{videoPID: astits.StreamTypeH264Video, audioPID: astits.StreamTypeAACAudio}, avc, adtsFrame(t, 44100, 2, false, "a body")
		if i%2 == 1 {
			types, picture, sound = map[uint16]astits.StreamType{videoPID: astits.StreamTypeH265Video, audioPID: astits.StreamTypeMPEG1Audio}, hevc, mp3Frame
		}
		s.table(types)
		for range each {
			s.write(videoPID, 3600, picture)
			s.write(audioPID, 3600, sound)
		}
	}
	units, metadata, left, err := s.read()
	kinds := byKind(units)
	if !errors.Is(err, io.EOF) || len(left) != 0 || metadata != 4 || len(kinds[0]) != 4*each || len(kinds[1]) != 4*each {
		t.Errorf("%d pictures, %d sounds, %d metadata, %q left out: %v", len(kinds[0]), len(kinds[1]), metadata, left, err)
	}
	for i, want := range [][]flv.FourCC{{flv.CodecAVC, flv.CodecHEVC, flv.CodecAVC, flv.CodecHEVC}, {flv.CodecAAC, flv.CodecMP3, flv.CodecAAC, flv.CodecMP3}} {
		if got := codecsOf(kinds[i]); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		for k, u := range kinds[i] {
			if u.at-kinds[i][0].at != uint32(k*40) {
				t.Fatalf("kind %d, unit %d at %d", i, k, u.at-kinds[i][0].at)
			}
		}
	}
}

// The type of MPEG audio is that of MP2 and MP3: MP2 is left out, with its name, and another track
// of sound takes its place. A publisher of nothing else is refused.
func TestMPEGAudioByItsLayer(t *testing.T) {
	run := func(other astits.StreamType, body, otherBody []byte) (units []sample, left []string, err error) {
		s := newStation(t)
		s.table(map[uint16]astits.StreamType{audioPID: astits.StreamTypeMPEG1Audio, otherPID: other})
		for range 20 {
			s.write(audioPID, 2351, body)
			if other != 0 {
				s.write(otherPID, 2351, otherBody)
			}
		}
		units, _, left, err = s.read()
		return units, left, err
	}
	if units, left, err := run(0, mp3Frame, nil); !errors.Is(err, io.EOF) || len(units) < 19 || len(left) > 0 || units[0].codec != flv.CodecMP3 {
		t.Errorf("layer III: %d units, %q left out: %v", len(units), left, err)
	}
	if units, left, err := run(0, mp2Frame, nil); !errors.Is(err, ErrCodec) || !strings.Contains(err.Error(), "MP2") || len(units) > 0 || len(left) != 1 {
		t.Errorf("layer II: %d units, %q left out: %v", len(units), left, err)
	}
	layer1 := bytes.Clone(mp2Frame[:276])
	layer1[1] = 0xff
	if units, _, err := run(0, layer1, nil); !errors.Is(err, ErrCodec) || !strings.Contains(err.Error(), "layer I") || len(units) > 0 {
		t.Errorf("layer I: %d units: %v", len(units), err)
	}
	units, left, err := run(astits.StreamTypeAACAudio, mp2Frame, adtsFrame(t, 44100, 2, false, "a body"))
	if !errors.Is(err, io.EOF) || len(units) < 18 || !slices.Equal(codecsOf(units), []flv.FourCC{flv.CodecAAC}) || len(left) == 0 || !strings.Contains(left[len(left)-1], "MP2") {
		t.Errorf("layer II before AAC: %d units of %v, %q left out: %v", len(units), codecsOf(units), left, err)
	}
	low := append([]byte{0xff, 0xf3, 0x82, 0xc0}, make([]byte, 72*64000/22050+1-4)...) // MPEG-2, 64 kbit/s, 22.05 kHz, padded
	s := newStation(t)
	s.table(map[uint16]astits.StreamType{audioPID: astits.StreamTypeMPEG2Audio})
	for range 10 {
		s.write(audioPID, 2*2351, slices.Concat(low, low))
	}
	if units, _, left, err := s.read(); !errors.Is(err, io.EOF) || len(units) < 18 || len(left) > 0 {
		t.Errorf("layer III of MPEG-2: %d units, %q left out: %v", len(units), left, err)
	}
}

// AAC of several blocks that cannot be separated is left out, once, and pictures go on.
func TestSoundThatCannotBeTaken(t *testing.T) {
	s := newStation(t)
	s.table(map[uint16]astits.StreamType{audioPID: astits.StreamTypeAACAudio})
	for range 2 * maxJoined {
		s.write(audioPID, 3840, several(t, false, "one", "two"))
	}
	if units, _, left, err := s.read(); !errors.Is(err, ErrCodec) || !strings.Contains(err.Error(), "blocks") || len(left) != 1 || len(units) > 0 {
		t.Errorf("%d units, %q left out: %v", len(units), left, err)
	}
}

// Encoders that cut a picture into slices of a packet's size make hundreds of a key frame.
func TestAPictureOfManySlicesComesWhole(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	units, video, _ := clip(t)
	i := slices.IndexFunc(units, func(u au.Unit) bool { return u.Video && u.Key })
	key := units[i]
	slice := key.Parts[len(key.Parts)-1]
	for range 700 {
		key.Parts = append(key.Parts, slice[:40])
	}
	got, err := demux(t, bytes.NewReader(mux(t, []au.Unit{key}, video, nil)))
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	compare(t, got, []sample{clone(&key)}, 0)
}

// Their views would take several times the memory of the picture.
func TestAPictureOfTooManyUnitsIsLeftOut(t *testing.T) {
	units, video, _ := clip(t)
	i := slices.IndexFunc(units, func(u au.Unit) bool { return u.Video && u.Key })
	hostile, whole := units[i], units[i]
	for range 4096 {
		hostile.Parts = append(slices.Clip(hostile.Parts), []byte{6})
	}
	whole.Time += 40
	got, err := demux(t, bytes.NewReader(mux(t, []au.Unit{hostile, whole}, video, nil)))
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	compare(t, got, []sample{clone(&whole)}, 0)
}
