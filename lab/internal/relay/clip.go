package relay

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
)

// A Tag is one packet of a clip. Its payload is that of an FLV tag and of an
// RTMP message alike.
type Tag struct {
	Kind    flv.TagType
	Time    uint32 // ms
	Payload []byte
}

// A Clip is what a publisher sends: first what sets up the decoders, then
// media, over and over, with times that go on.
type Clip struct {
	Head   []Tag  // metadata and sequence headers
	Media  []Tag  // in the order of the file, times from 0
	Length uint32 // ms from the first frame to its repetition
	Check  uint64 // a sum over all payloads
}

// The tracks of a clip.
const (
	video = iota
	audio
)

// ErrClip is the error of a clip that cannot be published.
var ErrClip = errors.New("relay: no clip to publish")

// ParseClip reads an FLV file, borrowed.
func ParseClip(file []byte) (*Clip, error) {
	r := sluice.NewBufReaderBytes(file)
	defer r.Recycle()
	d := flv.NewDecoder(r)
	c := &Clip{}
	_, err := d.ReadHeader()
	for err == nil {
		var t flv.Tag
		if t, err = d.Next(); err == nil {
			c.add(Tag{t.Type, t.Time, append([]byte(nil), t.Payload.Bytes()...)})
			t.Release()
		}
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) { // a tail that is cut off
		return nil, fmt.Errorf("%w: %w", ErrClip, err)
	}
	return c, c.finish()
}

func (c *Clip) add(t Tag) {
	switch packet, _ := kindOf(t.Kind, t.Payload); {
	case packet == setsUp, t.Kind == flv.TagScript && len(c.Media) == 0:
		t.Time = 0
		c.Head = append(c.Head, t)
	case packet == media:
		c.Media = append(c.Media, t)
	}
}

// What a packet is.
const (
	other  = iota
	setsUp // a decoder
	media
)

// kindOf looks at the front of a payload.
func kindOf(kind flv.TagType, p []byte) (packet int, key bool) {
	switch kind {
	case flv.TagVideo:
		h, err := flv.ParseVideo(p)
		switch {
		case err != nil:
		case h.Config():
			return setsUp, false
		case h.Packet == flv.PacketCodedFrames:
			return media, h.Key()
		}
	case flv.TagAudio:
		h, err := flv.ParseAudio(p)
		switch {
		case err != nil:
		case h.Config():
			return setsUp, false
		case h.Packet == flv.AudioCodedFrames:
			return media, false
		}
	}
	return other, false
}

// finish makes times begin at 0, and refuses a clip in which two frames have the
// same kind and time.
func (c *Clip) finish() error {
	first := uint32(math.MaxUint32)
	for _, t := range c.Media {
		first = min(first, t.Time)
	}
	var counts [2]int
	last := [2]int64{-1, -1}
	for i := range c.Media {
		t := &c.Media[i]
		which := trackOf(t.Kind)
		t.Time -= first
		if last[which] >= int64(t.Time) {
			return fmt.Errorf("%w: two packets of kind %d at %d ms or one out of order", ErrClip, t.Kind, t.Time)
		}
		last[which] = int64(t.Time)
		counts[which]++
		for _, b := range t.Payload {
			c.Check = c.Check*31 + uint64(b)
		}
	}
	for which, n := range counts {
		if n < 2 {
			return fmt.Errorf("%w: %d video and %d audio packets", ErrClip, counts[video], counts[audio])
		}
		c.Length = max(c.Length, uint32(last[which])+max(1, uint32(last[which])/uint32(n-1)))
	}
	return nil
}

// at returns the frame that is published as the nth, from 0, and its time.
func (c *Clip) at(n int) (t Tag, time uint32) {
	t = c.Media[n%len(c.Media)]
	return t, uint32(n/len(c.Media))*c.Length + t.Time
}

func trackOf(kind flv.TagType) int {
	if kind == flv.TagVideo {
		return video
	}
	return audio
}
