package au

import (
	"iter"

	"github.com/sluice-go/sluice/flv"
)

// A Splitter converts the frames of one stream into access units. Of several tracks of
// a kind it takes the one with the lowest number. The zero value is ready for use.
type Splitter struct {
	video, audio *Config
	inBand       *InBand      // of pictures whose parameters stand in key frames alone; nil: others
	main         [2]mainTrack // of pictures and of sound
	others       bool         // frames of other tracks have come since Others was called
	parts        [][]byte
}

// MaxUnits bounds the units in one picture: more than an encoder makes of the largest
// picture, and the memory for their views stays small.
const MaxUnits = 4096

// A mainTrack is the one of a kind that is taken.
type mainTrack struct {
	number uint8
	known  bool
}

// takes reports whether a frame is of the main track, whose configuration is c. It is that
// itself if there was none with a number as low.
func (m *mainTrack) takes(x *flv.Extension, c **Config) bool {
	number := uint8(0)
	if x.Tracks != flv.TrackOnly {
		number = x.Track
	}
	if !m.known || number < m.number {
		*m, *c = mainTrack{number, true}, nil
	}
	return number == m.number
}

// Split converts a frame, the body of a tag, borrowed as long as the unit is in use. It
// reports false for frames that have no access unit: headers, metadata, other tracks.
// After an error the next frame can be split.
func (s *Splitter) Split(typ flv.TagType, at uint32, body []byte) (u Unit, ok bool, err error) {
	switch typ {
	case flv.TagVideo:
		return s.splitVideo(at, body)
	case flv.TagAudio:
		return s.splitAudio(at, body)
	}
	return Unit{}, false, nil
}

// Units yields the access units in tags, which a live.Reader returned, borrowed until the
// next one is. Broken frames are left out, as a decoder would.
func (s *Splitter) Units(tags []byte) iter.Seq[Unit] {
	return func(yield func(Unit) bool) {
		for t := range Tags(tags) {
			if u, ok, err := s.Split(t.Type, t.Time, t.Body); err == nil && ok && !yield(u) {
				return
			}
		}
	}
}

// Configs returns the configurations as they are now; nil what is not known.
func (s *Splitter) Configs() (video, audio *Config) { return s.video, s.audio }

// Others reports whether frames of other tracks have come since it was called last.
func (s *Splitter) Others() bool {
	others := s.others
	s.others = false
	return others
}

func (s *Splitter) splitVideo(at uint32, p []byte) (Unit, bool, error) {
	h, err := flv.ParseVideo(p)
	if err != nil {
		return Unit{}, false, err
	}
	before := s.main[0].number
	if !s.main[0].takes(&h.Extension, &s.video) {
		s.others = true
		return Unit{}, false, nil
	}
	if s.main[0].number != before {
		s.inBand = nil
	}
	body := h.Body(p)
	if h.Config() {
		c, err := ParseConfig(h.Codec, body)
		if err == nil {
			s.configure(c)
		}
		return Unit{}, false, err
	}
	if h.Metadata() || h.Frame == flv.FrameCommand || h.Packet != flv.PacketCodedFrames && !(h.Enhanced && h.Packet == flv.PacketCodedFramesX) || len(body) == 0 {
		return Unit{}, false, nil
	}
	u := Unit{Video: true, Codec: h.Codec, Time: at, Offset: h.CompositionTime, Key: h.Key()}
	if s.video != nil && s.video.Codec == h.Codec {
		u.Config = s.video
	}
	s.parts = s.parts[:0]
	switch h.Codec {
	case flv.CodecAVC, flv.CodecHEVC:
		size := 4
		if u.Config != nil {
			size = u.Config.lengthSize
		}
		s.parts, err = appendLengths(s.parts, body, size)
		if err == nil && u.Key && (u.Config == nil || s.inBand != nil && s.inBand.Codec == h.Codec) {
			u.Config = s.learn(h.Codec)
		}
	case flv.CodecAV1:
		s.parts, err = appendOBUs(s.parts, body)
		if u.Key && u.Config != nil && s.inBand != nil {
			u.Config = s.learn(h.Codec)
		}
	default:
		s.parts = append(s.parts, body)
	}
	u.Parts = s.parts
	return u, err == nil && len(u.Parts) > 0, err
}

// learn returns the configuration of a key frame, whose parts may have it, of a stream whose headers do not.
func (s *Splitter) learn(codec flv.FourCC) *Config {
	if s.inBand == nil || s.inBand.Codec != codec {
		s.inBand = &InBand{Codec: codec}
	}
	s.inBand.Learn(s.parts)
	if c := s.inBand.Config(); c != nil {
		s.video = c
	}
	if s.video == nil || s.video.Codec != codec {
		return nil
	}
	return s.video
}

// configure takes the configuration of a header of pictures. What key frames say beside it stays.
func (s *Splitter) configure(c *Config) {
	switch {
	case !c.unsequenced():
		s.inBand = nil
	case s.inBand == nil || s.inBand.Codec != c.Codec || s.video == nil: // or of another track
		s.inBand = &InBand{Codec: c.Codec}
	case s.inBand.Config() != nil:
		c = s.inBand.Config()
	}
	s.video = c
}

func (s *Splitter) splitAudio(at uint32, p []byte) (Unit, bool, error) {
	h, err := flv.ParseAudio(p)
	if err != nil {
		return Unit{}, false, err
	}
	if !s.main[1].takes(&h.Extension, &s.audio) {
		s.others = true
		return Unit{}, false, nil
	}
	body := h.Body(p)
	if h.Config() {
		c, err := ParseConfig(h.Codec, body)
		if err == nil && !c.lessThan(s.audio) {
			s.audio = c
		}
		return Unit{}, false, err
	}
	if h.Packet != flv.AudioCodedFrames || len(body) == 0 {
		return Unit{}, false, nil
	}
	if c := audioConfig(&h, body); c != nil && !c.same(s.audio) {
		s.audio = c
	}
	u := Unit{Codec: h.Codec, Time: at, Key: true}
	if u.Codec == flv.CodecMP3At8k {
		u.Codec = flv.CodecMP3
	}
	if s.audio != nil && s.audio.Codec == u.Codec {
		u.Config = s.audio
	}
	s.parts = append(s.parts[:0], body)
	u.Parts = s.parts
	return u, true, nil
}
