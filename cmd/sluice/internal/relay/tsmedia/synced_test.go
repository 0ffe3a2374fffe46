package tsmedia

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/asticode/go-astits"
)

// syncedKinds are frames of the kinds of sound that begin with a pattern, and how long one is, in ticks.
var syncedKinds = map[string]struct {
	typ   astits.StreamType
	frame []byte
	ticks int64
}{
	"MP3":           {astits.StreamTypeMPEG1Audio, mp3Frame, 2351},
	"MP3 of 11 kHz": {astits.StreamTypeMPEG2Audio, append([]byte{0xff, 0xe3, 0x40, 0xc0}, make([]byte, 208-4)...), 4702},
	"AC-3":          {astits.StreamTypeAC3Audio, append([]byte{0x0b, 0x77, 0, 0, 0, 0x40, 0x40}, make([]byte, 128-7)...), 2880},
}

// Broadcasters fill packets whatever frames they cut: each frame comes whole, at its time, once, also when
// the first packet begins within one.
func TestSoundThatPacketsCut(t *testing.T) {
	for name, kind := range syncedKinds {
		const rest, n = 50, 30
		stream := bytes.Repeat([]byte{1}, rest)
		for i := range n {
			f := bytes.Clone(kind.frame)
			f[len(f)-1] = byte(i)
			stream = append(stream, f...)
		}
		length := len(kind.frame)
		for _, size := range []int{length, length + 1, length + 3, 2*length - 1, 3*length + 60, len(stream)} {
			s := newStation(t)
			s.table(map[uint16]astits.StreamType{audioPID: kind.typ})
			for at := 0; at < len(stream); at += size {
				s.at[audioPID] = int64((max(at-rest, 0)+length-1)/length) * kind.ticks // of the first frame that begins there
				s.write(audioPID, 0, stream[at:min(at+size, len(stream))])
			}
			units, _, left, err := s.read()
			if !errors.Is(err, io.EOF) || len(units) != n || len(left) > 0 {
				t.Errorf("%s in packets of %d bytes: %d frames, %q left out: %v", name, size, len(units), left, err)
				continue
			}
			for i, u := range units {
				want := int64(i) * kind.ticks / 90
				if f := u.parts[0]; len(f) != length || f[length-1] != byte(i) || int64(u.at-units[0].at)-want > 1 || want-int64(u.at-units[0].at) > 1 {
					t.Fatalf("%s in packets of %d bytes: frame %d has %d bytes, ends with %d, is at %d", name, size, i, len(f), f[len(f)-1], u.at-units[0].at)
				}
			}
		}
	}
}

// A packet that was lost takes the frames that it has cut along, and no other.
func TestCutSoundBehindALoss(t *testing.T) {
	for name, kind := range syncedKinds {
		s := newStation(t)
		s.table(map[uint16]astits.StreamType{audioPID: kind.typ})
		const n, lost = 30, 10
		size := len(kind.frame) + len(kind.frame)/2
		stream := bytes.Repeat(kind.frame, n)
		for at := 0; at < len(stream); at += size {
			if at/size != lost {
				s.write(audioPID, kind.ticks, stream[at:min(at+size, len(stream))])
			}
		}
		want := n - ((lost+1)*size-1)/len(kind.frame) + lost*size/len(kind.frame) - 1
		units, _, left, err := s.read()
		if !errors.Is(err, io.EOF) || len(units) != want || len(left) > 0 {
			t.Errorf("%s: %d frames, want %d, %q left out: %v", name, len(units), want, left, err)
		}
	}
}
