package relay

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// The types of an FLV tag's payload and of the RTMP message with the same one
// (Adobe FLV 10.1, E.4.1; RTMP 1.0, 7.1).
const (
	kindAudio  = 8
	kindVideo  = 9
	kindScript = 18
)

const (
	flvHeader  = 9
	tagHeader  = 11
	tagTrailer = 4 // the size of the tag before
)

// A Tag is one packet of a clip. Its payload is that of an FLV tag and of an
// RTMP message alike.
type Tag struct {
	Kind    uint8
	Time    uint32 // ms
	Payload []byte
}

// A Clip is what a publisher sends: first what sets up the decoders, then
// media, over and over, with times that go on.
type Clip struct {
	Head   []Tag  // metadata and sequence headers
	Media  []Tag  // in the order of the file, times from 0
	Length uint32 // ms from the first frame to its repetition

	tracks [2]track
	place  []int // of each of Media within its track
	check  uint64
}

// A track is the media of one kind: video is the first, audio the second.
type track struct {
	times []uint32
	sizes []int
	media []int // index in Clip.Media
}

const (
	video = iota
	audio
)

// ErrClip is the error of a clip that cannot be published.
var ErrClip = errors.New("relay: no clip to publish")

// ParseClip reads an FLV file, which the clip borrows as long as it is used.
func ParseClip(file []byte) (*Clip, error) {
	if len(file) < flvHeader+tagTrailer || string(file[:3]) != "FLV" {
		return nil, fmt.Errorf("%w: not an FLV file", ErrClip)
	}
	c := &Clip{}
	for p := file[flvHeader+tagTrailer:]; len(p) >= tagHeader; {
		size := int(be24(p[1:]))
		if len(p) < tagHeader+size+tagTrailer {
			break // a tail that is cut off
		}
		t := Tag{Kind: p[0], Time: be24(p[4:]) | uint32(p[7])<<24, Payload: p[tagHeader : tagHeader+size : tagHeader+size]}
		c.add(t)
		p = p[tagHeader+size+tagTrailer:]
	}
	return c, c.finish()
}

func (c *Clip) add(t Tag) {
	switch {
	case t.Kind == kindScript && len(c.Media) == 0, len(t.Payload) >= 2 && sets(t.Kind, t.Payload[0], t.Payload[1]):
		t.Time = 0
		c.Head = append(c.Head, t)
	case len(t.Payload) >= 2 && (t.Kind == kindAudio || t.Kind == kindVideo && t.Payload[1] == 1):
		c.Media = append(c.Media, t)
	}
}

// sets reports whether a payload with these first two bytes is a sequence header: of
// AVC (FLV E.4.3.1) or of AAC (E.4.2.1).
func sets(kind, first, second byte) bool {
	return second == 0 && (kind == kindVideo && first&15 == 7 || kind == kindAudio && first>>4 == 10)
}

// isKey reports whether a video payload with this first byte is a key frame.
func isKey(first byte) bool { return first>>4 == 1 }

// finish builds the lookup tables, and refuses a clip in which two frames have the
// same kind and time.
func (c *Clip) finish() error {
	first := uint32(math.MaxUint32)
	for _, t := range c.Media {
		first = min(first, t.Time)
	}
	for i, t := range c.Media {
		which := trackOf(t.Kind)
		c.Media[i].Time -= first
		tr := &c.tracks[which]
		if n := len(tr.times); n > 0 && tr.times[n-1] >= c.Media[i].Time {
			return fmt.Errorf("%w: two packets of kind %d at %d ms or one out of order", ErrClip, t.Kind, c.Media[i].Time)
		}
		c.place = append(c.place, len(tr.times))
		tr.times = append(tr.times, c.Media[i].Time)
		tr.sizes = append(tr.sizes, len(t.Payload))
		tr.media = append(tr.media, i)
		for _, b := range t.Payload {
			c.check = c.check*31 + uint64(b)
		}
	}
	for _, tr := range c.tracks {
		n := len(tr.times)
		if n < 2 {
			return fmt.Errorf("%w: %d video and %d audio packets", ErrClip, len(c.tracks[video].times), len(c.tracks[audio].times))
		}
		step := (tr.times[n-1] - tr.times[0]) / uint32(n-1)
		c.Length = max(c.Length, tr.times[n-1]+max(1, step))
	}
	return nil
}

// Rate is the payload in bits per second.
func (c *Clip) Rate() float64 {
	total := 0
	for _, t := range c.Media {
		total += len(t.Payload)
	}
	return float64(total) * 8 / (float64(c.Length) / 1000)
}

// Check is a sum over all payloads.
func (c *Clip) Check() uint64 { return c.check }

// at returns the frame that is published as the nth, from 0, and its time.
func (c *Clip) at(n int) (t Tag, time uint32) {
	t = c.Media[n%len(c.Media)]
	return t, uint32(n/len(c.Media))*c.Length + t.Time
}

// timeOf is the time of the nth frame of a track.
func (c *Clip) timeOf(which, n int) uint32 {
	tr := &c.tracks[which]
	return uint32(n/len(tr.times))*c.Length + tr.times[n%len(tr.times)]
}

// find returns which frame of a track has that time and size, or -1. It looks
// at the expected one first.
func (c *Clip) find(which int, time uint32, size, expected int) int {
	tr := &c.tracks[which]
	n := len(tr.times)
	if expected < 0 || c.timeOf(which, expected) != time {
		at, found := slices.BinarySearch(tr.times, time%c.Length)
		if !found {
			return -1
		}
		expected = int(time/c.Length)*n + at
	}
	if tr.sizes[expected%n] != size {
		return -1
	}
	return expected
}

// payload is that of the nth frame of a track.
func (c *Clip) payload(which, n int) []byte {
	tr := &c.tracks[which]
	return c.Media[tr.media[n%len(tr.media)]].Payload
}

func trackOf(kind uint8) int {
	if kind == kindVideo {
		return video
	}
	return audio
}

func be24(p []byte) uint32 { return uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2]) }
