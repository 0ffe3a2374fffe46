package scenarios

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/netsim"
)

func TestPrefixSumsGoAroundTheRing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	values := []uint64{3, 1, 4, 1, 5, 9, 2}
	prefix := []uint64{0}
	for _, v := range values {
		prefix = append(prefix, prefix[len(prefix)-1]+v)
	}
	for range 1000 {
		i, n := rnd.IntN(len(values)), rnd.IntN(50)
		var want uint64
		for k := range n {
			want += values[(i+k)%len(values)]
		}
		if got := over(prefix, i, n); got != want {
			t.Fatalf("seed %d: %d values from %d come to %d, want %d", seed, n, i, got, want)
		}
	}
}

func TestFramesAreWhatTheTablesSay(t *testing.T) {
	s := frameKind{7, 256, 1024}.frames()
	if s != (frameKind{7, 256, 1024}).frames() {
		t.Error("the same frames were made twice")
	}
	at := 0
	for i := range s.units() {
		n := int(binary.BigEndian.Uint32(s.ring[at:]))
		if n < 256 || n > 1024 {
			t.Fatalf("frame %d has %d bytes", i, n)
		}
		p := s.ring[at+frameHead : at+frameHead+n]
		if got := s.marks[i+1] - s.marks[i]; got != mark(p) {
			t.Fatalf("frame %d is marked %#x, want %#x", i, got, mark(p))
		}
		at += frameHead + n
		if s.ends[i+1] != int64(at) || s.load(0, i+1) != int64(at-(i+1)*frameHead) {
			t.Fatalf("frame %d ends at %d with %d bytes of payload before, want %d and %d", i, s.ends[i+1], s.load(0, i+1), at, at-(i+1)*frameHead)
		}
	}
	if at != len(s.ring) || at < ringSize {
		t.Errorf("the frames have %d bytes, the ring %d", at, len(s.ring))
	}
}

// flipped changes one byte of what it reads.
type flipped struct {
	r  io.Reader
	at int
}

func (f *flipped) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if f.at >= 0 && f.at < n {
		p[f.at] ^= 0x10
	}
	f.at -= n
	return n, err
}

// TestAWrongByteIsFoundOut changes the first byte of the third payload: every
// way that looks at frames must come to another sum, and say so.
func TestAWrongByteIsFoundOut(t *testing.T) {
	s := frameKind{7, 256, 1024}.frames()
	for _, w := range allFrames[1:] {
		src := netsim.NewReader(&flipped{s.source(0), int(s.ends[2]) + frameHead}, netsim.Good, 1)
		r := newWalker(w, src, place{s: s})
		if _, err := r.Run(100); !errors.Is(err, errDiffers) {
			t.Errorf("%s: 100 frames with a wrong byte: %v", w.name, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTheFloorSeesAnotherStream gives it the right length and the wrong bytes.
func TestTheFloorSeesAnotherStream(t *testing.T) {
	s := frameKind{7, 256, 1024}.frames()
	wrong := netsim.NewLoop(bytes.Repeat([]byte{1, 2, 3}, 1000), -1)
	walk, _ := newFloor(netsim.NewReader(wrong, netsim.Good, 1), place{s: s})
	if _, err := walk(100); !errors.Is(err, errDiffers) {
		t.Errorf("another stream: %v", err)
	}
}

// TestEveryWayStopsWhereTheSourceDoes: a source that ends is an error, not
// fewer frames.
func TestEveryWayStopsWhereTheSourceDoes(t *testing.T) {
	s := frameKind{7, 256, 1024}.frames()
	for _, w := range allFrames {
		// bufiox is let read its first 64 KiB, which must be there.
		r := newWalker(w, io.LimitReader(s.source(0), 100<<10), place{s: s})
		if _, err := r.Run(1000); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: 1,000 frames of 100 KiB: %v", w.name, err)
		}
		r.Close()
	}
}
