package tsmedia

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/asticode/go-astits"
)

// spaced puts other bytes before and behind each packet, among them those that packets begin with.
func spaced(ts []byte, before, behind int) (p []byte) {
	r := rand.New(rand.NewPCG(uint64(before), uint64(behind)))
	other := func(n int) {
		for range n {
			if b := byte(r.Uint32()); r.IntN(4) > 0 {
				p = append(p, b)
			} else {
				p = append(p, syncByte)
			}
		}
	}
	for packet := range slices.Chunk(ts, packetLen) {
		other(before)
		p = append(p, packet...)
		other(behind)
	}
	return p
}

// Packets have a time before them, or parity behind them; what comes is cut anywhere, and may begin in one.
func TestPacketsApart(t *testing.T) {
	units, video, audio := clip(t)
	ts := mux(t, units, video, audio)
	for _, c := range []struct{ before, behind int }{{0, 0}, {4, 0}, {0, 16}} {
		all := spaced(ts, c.before, c.behind)
		for name, r := range map[string]io.Reader{
			"whole":        bytes.NewReader(all),
			"in bytes":     iotest.OneByteReader(bytes.NewReader(all)),
			"from a piece": bytes.NewReader(append(bytes.Repeat([]byte{syncByte, 1, 2}, 30), all...)),
		} {
			got, err := demux(t, r)
			if !errors.Is(err, io.EOF) || len(got) != len(units) {
				t.Errorf("%d before, %d behind, %s: %d of %d units: %v", c.before, c.behind, name, len(got), len(units), err)
			}
		}
	}
}

// Each packet may come twice.
func TestPacketsThatComeTwice(t *testing.T) {
	units, video, audio := clip(t)
	var twice []byte
	for p := range slices.Chunk(mux(t, units, video, audio), packetLen) {
		twice = append(append(twice, p...), p...)
	}
	got, err := demux(t, bytes.NewReader(twice))
	if !errors.Is(err, io.EOF) || len(got) != len(units) {
		t.Errorf("%d of %d units: %v", len(got), len(units), err)
	}
}

// section is a packet with a table (ISO/IEC 13818-1, section 2.4.4): of programs when it is 0, of tracks when it
// is 2.
func section(pid uint16, table byte, number uint16, holds bool, body []byte) []byte {
	s := []byte{table, 0xb0, byte(5 + len(body) + 4), byte(number >> 8), byte(number), 0xc0, 0, 0}
	if holds {
		s[5] |= 1
	}
	s = append(s, body...)
	crc := ^uint32(0)
	for _, b := range s {
		crc ^= uint32(b) << 24
		for range 8 {
			crc = crc<<1 ^ 0x04c11db7*(crc>>31)
		}
	}
	s = binary.BigEndian.AppendUint32(append([]byte{syncByte, 0x40 | byte(pid>>8), byte(pid), 0x10, 0}, s...), crc)
	return append(s, bytes.Repeat([]byte{0xff}, packetLen-len(s))...)
}

// tracks is a table of one track.
func tracks(pid, program uint16, holds bool, kind astits.StreamType, track uint16) []byte {
	return section(pid, 2, program, holds, []byte{0xe0 | byte(track>>8), byte(track), 0xf0, 0, byte(kind), 0xe0 | byte(track>>8), byte(track), 0xf0, 0})
}

// sound writes packets of AAC without the tables that the muxer has for them.
func (s *station) sound(number int) {
	s.t.Helper()
	all := bytes.Clone(s.to.Bytes())
	s.to.Reset()
	s.table(map[uint16]astits.StreamType{audioPID: astits.StreamTypeAACAudio})
	for range number {
		s.write(audioPID, 1920, adtsFrame(s.t, 48000, 2, false, "a body"))
	}
	for p := range slices.Chunk(s.to.Bytes(), packetLen) {
		if binary.BigEndian.Uint16(p[1:])&0x1fff == audioPID {
			all = append(all, p...)
		}
	}
	s.to.Reset()
	s.to.Write(all)
}

// A table that is announced, and does not hold yet, changes nothing.
func TestTablesThatDoNotHoldYet(t *testing.T) {
	const program, pid = 1, 0x1000
	s := newStation(t)
	for range 4 {
		s.to.Write(section(0, 0, 1, true, []byte{0, program, 0xf0, 0}))
		s.to.Write(section(0, 0, 1, false, []byte{0, program + 1, 0xf1, 0}))
		s.to.Write(tracks(pid, program, true, astits.StreamTypeAACAudio, audioPID))
		s.to.Write(tracks(pid, program, false, astits.StreamTypeMPEG1Audio, audioPID))
		s.sound(5)
	}
	units, metadata, left, err := s.read()
	if !errors.Is(err, io.EOF) || len(units) != 20 || metadata != 1 || len(left) != 0 {
		t.Errorf("%d units, %d times metadata, %q left out: %v", len(units), metadata, left, err)
	}
}

// Of several programs the first with a track that is carried is read, and it has to be there: which come first
// does not matter.
func TestProgramsWithoutATrack(t *testing.T) {
	const first, second = 1, 2
	for _, kind := range []astits.StreamType{astits.StreamTypeAACAudio, astits.StreamTypeSCTE35} {
		s := newStation(t)
		for range 3 {
			s.to.Write(section(0, 0, 1, true, []byte{0, 0, 0xe0, 0x10, 0, first, 0xf0, 0, 0, second, 0xf1, 0}))
			s.to.Write(tracks(0x1000, first, true, astits.StreamTypeSCTE35, otherPID))
			s.to.Write(tracks(0x1100, second, true, kind, audioPID))
			s.sound(5)
		}
		units, _, left, err := s.read()
		if kind == astits.StreamTypeAACAudio && (!errors.Is(err, io.EOF) || len(units) != 15 || len(left) != 1) {
			t.Errorf("%d units, %q left out: %v", len(units), left, err)
		}
		if kind == astits.StreamTypeSCTE35 && (!errors.Is(err, ErrCodec) || len(left) != 2) {
			t.Errorf("in no program a track: %q left out, %v", left, err)
		}
	}
}

// What cannot be read is named: packets that are scrambled, unless a few are by chance, and sound without frames.
func TestTracksThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		body      []byte
		packets   int
		scrambled bool
		left      string
	}{
		"scrambled":      {adtsFrame(t, 48000, 2, false, "a body"), 2 * manyScrambled, true, "scrambled mp4a"},
		"damaged":        {adtsFrame(t, 48000, 2, false, "a body"), manyScrambled / 2, true, ""},
		"without frames": {bytes.Repeat([]byte{1}, 1000), 2 * maxEmpty / 1000, false, "mp4a in which there are no frames"},
	} {
		s := newStation(t)
		key, _ := pictures264(t)
		s.table(map[uint16]astits.StreamType{videoPID: astits.StreamTypeH264Video, audioPID: astits.StreamTypeAACAudio})
		for range c.packets {
			s.write(videoPID, 3600, key)
			at := s.to.Len()
			s.write(audioPID, 1920, c.body)
			for p := range slices.Chunk(s.to.Bytes()[at:], packetLen) {
				if c.scrambled {
					p[3] |= 0x80
					for i := packetLen - 20; i < packetLen; i++ {
						p[i] ^= 0x55
					}
				}
			}
		}
		units, _, left, err := s.read()
		if n := len(byKind(units)[0]); !errors.Is(err, io.EOF) || n != c.packets || strings.Join(left, ", ") != c.left {
			t.Errorf("%s: %d of %d pictures, %q left out: %v", name, n, c.packets, left, err)
		}
	}
}
