package tsmedia

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/asticode/go-astits"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/sluicetest"
)

// bare writes a packet that says no time.
func (s *station) bare(pid uint16, ticks int64, body []byte) {
	s.t.Helper()
	id := uint8(0xc0)
	if pid == videoPID {
		id = 0xe0
	}
	if _, err := s.m.WriteData(&astits.MuxerData{PID: pid, PES: &astits.PESData{Data: body, Header: &astits.PESHeader{StreamID: id, OptionalHeader: &astits.PESOptionalHeader{MarkerBits: 2}}}}); err != nil {
		s.t.Fatal(err)
	}
	s.at[pid] += ticks
}

// Pictures of H.264 of a sequence without fields, each behind a delimiter.
func pictures264(t testing.TB) (key, other []byte) {
	key = slices.Concat([]byte("\x00\x00\x00\x01\x09\xf0\x00\x00\x00\x01"), unhex(t, "6742c01fd900780227e5840000030004000003"+"00f03c60c920"), []byte("\x00\x00\x00\x01\x68\xcb\x83\xcb\x20\x00\x00\x00\x01\x65\x88\x84\x21\xa0\x00\x00\x01\x65\x08\x84\x21\xa0"))
	return key, []byte("\x00\x00\x00\x01\x09\xf0\x00\x00\x00\x01\x41\x9a\x24\x6c\x00\x00\x01\x41\x1a\x24\x6c")
}

// Not each packet has to say when it is (ISO/IEC 13818-1, section 2.7.4): sound goes on, and so do pictures.
func TestPacketsWithoutATime(t *testing.T) {
	key, other := pictures264(t)
	s := newStation(t)
	s.table(map[uint16]astits.StreamType{videoPID: astits.StreamTypeH264Video, audioPID: astits.StreamTypeAACAudio})
	const number = 40
	for i := range number {
		picture, write := other, s.write
		if i == 0 {
			picture = key
		}
		if i%4 == 3 {
			write = s.bare
		}
		write(videoPID, 3600, picture)
		write(audioPID, 1920, adtsFrame(t, 48000, 2, false, "a body"))
	}
	units, _, _, err := s.read()
	kinds := byKind(units)
	if !errors.Is(err, io.EOF) || len(kinds[0]) != number || len(kinds[1]) != number {
		t.Fatalf("%d pictures, %d sounds: %v", len(kinds[0]), len(kinds[1]), err)
	}
	for i := range number {
		if v, a := kinds[0][i].at-kinds[0][0].at, kinds[1][i].at-kinds[1][0].at; v != uint32(i*40) || a != uint32((i*1920+45)/90) {
			t.Fatalf("unit %d: picture at %d, sound at %d", i, v, a)
		}
	}
}

// Frames of sound that are cut without regard to packets, of which only some say a time.
func TestSoundInPiecesWithoutATime(t *testing.T) {
	var all []byte
	const number = 64
	for range number {
		all = append(all, adtsFrame(t, 48000, 2, false, "a body of a length that is odd")...)
	}
	s := newStation(t)
	s.table(map[uint16]astits.StreamType{audioPID: astits.StreamTypeAACAudio})
	write := s.write
	for p := range slices.Chunk(all, 53) {
		write(audioPID, 0, p)
		write = s.bare
	}
	units, _, _, err := s.read()
	if !errors.Is(err, io.EOF) || len(units) != number {
		t.Fatalf("%d units: %v", len(units), err)
	}
	for i, u := range units {
		if d := int(u.at-units[0].at) - i*1024*1000/48000; d < -1 || d > 1 {
			t.Fatalf("unit %d at %d", i, u.at-units[0].at)
		}
	}
}

// Two pictures in a packet are two, and both fields of one picture are one.
func TestSeveralPicturesInOnePacket(t *testing.T) {
	key, other := pictures264(t)
	s := newStation(t)
	s.table(map[uint16]astits.StreamType{videoPID: astits.StreamTypeH264Video})
	const packets = 10
	for i := range packets {
		first := other
		if i == 0 {
			first = key
		}
		s.write(videoPID, 7200, slices.Concat(first, other))
	}
	units, _, _, err := s.read()
	if !errors.Is(err, io.EOF) || len(units) != 2*packets {
		t.Fatalf("%d pictures: %v", len(units), err)
	}
	for i, u := range units {
		if u.at-units[0].at != uint32(i*40) || u.key != (i == 0) || i > 0 && len(u.parts) != 2 {
			t.Fatalf("picture %d at %d, key %v, %d parts", i, u.at-units[0].at, u.key, len(u.parts))
		}
	}
	// Main profile, 1080 lines in fields.
	sps := unhex(t, "674d4028965600f0044fcb0801"+"10000003001000000303c0f183198000")
	x := pictures{inBand: au.InBand{Codec: flv.CodecAVC}}
	x.inBand.Learn([][]byte{sps, {0x68, 0xcb, 0x83, 0xcb, 0x20}})
	if x.separate(nil) {
		t.Error("fields are taken for pictures")
	}
}

// An encoder whose parameter sets do not come is named, once; when they come its pictures do.
func TestPicturesThatWaitForTheirParameterSets(t *testing.T) {
	key, other := pictures264(t)
	bare := append([]byte("\x00\x00\x00\x01\x09\xf0"), key[bytes.Index(key, []byte("\x00\x00\x00\x01\x65")):]...)
	for _, c := range []struct {
		bare int // key frames without sets
		left int
	}{{3, 0}, {12, 1}} {
		s := newStation(t)
		s.table(map[uint16]astits.StreamType{videoPID: astits.StreamTypeH264Video, audioPID: astits.StreamTypeAACAudio})
		for range c.bare {
			s.write(videoPID, 3600, bare)
			s.write(videoPID, 3600, other)
			s.write(audioPID, 7200, adtsFrame(t, 48000, 2, false, "a body"))
		}
		s.write(videoPID, 3600, key)
		s.write(videoPID, 3600, other)
		units, _, left, err := s.read()
		if kinds := byKind(units); !errors.Is(err, io.EOF) || len(kinds[0]) != 2 || len(kinds[1]) != c.bare {
			t.Errorf("%d key frames without sets: %d pictures, %d sounds: %v", c.bare, len(kinds[0]), len(kinds[1]), err)
		}
		if len(left) != c.left || c.left > 0 && !strings.Contains(left[0], "parameter sets") {
			t.Errorf("%d key frames without sets: left out are %q", c.bare, left)
		}
	}
}

// Where a sender says that its count of packets does not go on, what came before is whole.
func TestADiscontinuityLosesNothing(t *testing.T) {
	key, other := pictures264(t)
	s := newStation(t)
	s.table(map[uint16]astits.StreamType{videoPID: astits.StreamTypeH264Video})
	const number = 12
	for i := range number {
		picture := other
		if i == 0 {
			picture = key
		}
		s.write(videoPID, 3600, picture)
	}
	n, shift := 0, byte(0)
	for p := range slices.Chunk(s.to.Bytes(), packetLen) {
		if binary.BigEndian.Uint16(p[1:])&0x1fff != videoPID {
			continue
		}
		if at := bytes.Index(p, []byte{0, 0, 1, 0xe0}); at > 0 {
			p[at+4], p[at+5] = 0, 0 // it ends where the next one begins
		}
		if n++; n%4 == 0 && p[1]&0x40 != 0 && p[3]&0x20 != 0 && p[4] > 0 {
			p[5] |= 0x80
			if n%8 == 0 {
				shift += 5
			}
		}
		p[3] = p[3]&0xf0 | (byte(n)+shift)&15
	}
	got, err := demux(t, bytes.NewReader(s.to.Bytes()))
	if !errors.Is(err, io.EOF) || len(got) != number {
		t.Errorf("%d pictures of %d: %v", len(got), number, err)
	}
}

// The length of a packet of sound may be 0; tracks of teletext and of marks of advertisements stand beside,
// and tables come late.
func TestSoundBesideOtherTracks(t *testing.T) {
	s := newStation(t)
	s.table(map[uint16]astits.StreamType{audioPID: astits.StreamTypeAACAudio, otherPID: astits.StreamTypeSCTE35, videoPID: astits.StreamTypePrivateData})
	tables := bytes.Clone(s.to.Bytes())
	s.to.Reset()
	for range 8 {
		s.write(audioPID, 1920, adtsFrame(t, 48000, 2, false, "a body"))
	}
	s.to.Write(tables)
	const number = 10
	for range number {
		s.write(audioPID, 1920, adtsFrame(t, 48000, 2, false, "a body"))
		s.write(videoPID, 1920, bytes.Repeat([]byte{0x10, 2, 0x2c}, 60))
		s.to.Write(slices.Concat([]byte{0x47, 0x41, 0x02, 0x10, 0, 0xfc, 0x30, 0x11, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xf0, 0, 0, 0, 0}, bytes.Repeat([]byte{0xff}, packetLen-21)))
	}
	for p := range slices.Chunk(s.to.Bytes(), packetLen) {
		if binary.BigEndian.Uint16(p[1:])&0x5fff == 0x4000|audioPID {
			if at := bytes.Index(p, []byte{0, 0, 1, 0xc0}); at > 0 {
				p[at+4], p[at+5] = 0, 0
			}
		}
	}
	units, _, left, err := s.read()
	if !errors.Is(err, io.EOF) || len(units) < number || len(left) != 2 {
		t.Errorf("%d units, %q left out: %v", len(units), left, err)
	}
}

// FLV may say that a picture is shown before it is decoded. A transport stream may not.
func TestPicturesThatAreShownBeforeTheyAreDecoded(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	units, video, _ := clip(t)
	var pictures []au.Unit
	for _, u := range units {
		if u.Video {
			pictures = append(pictures, u)
		}
	}
	shown := []int32{0, 80, -40, -40} // of I, P and two B-pictures
	for i := range pictures {
		pictures[i].Time, pictures[i].Offset = 1000+uint32(i*40), shown[i%len(shown)]
	}
	got, err := demux(t, bytes.NewReader(mux(t, pictures, video, nil)))
	if !errors.Is(err, io.EOF) || len(got) != len(pictures) {
		t.Fatalf("%d of %d pictures: %v", len(got), len(pictures), err)
	}
	at := func(u uint32, offset int32) uint32 { return u + uint32(offset) }
	for i := range got {
		a, b := at(got[i].at, got[i].offset)-at(got[0].at, got[0].offset), at(pictures[i].Time, pictures[i].Offset)-at(pictures[0].Time, pictures[0].Offset)
		if got[i].offset < 0 || int32(a-b) > 1 || int32(b-a) > 1 || i > 0 && int32(got[i].at-got[i-1].at) < 0 {
			t.Fatalf("picture %d: decoded at %d, shown at %d, want %d", i, got[i].at, a, b)
		}
	}
}
