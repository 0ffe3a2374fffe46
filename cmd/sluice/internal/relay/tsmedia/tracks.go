package tsmedia

import (
	"github.com/asticode/go-astits"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mpegts/substructs"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// A kind is what a table says of a track.
type kind struct {
	codec    flv.FourCC // 0: not carried
	channels int        // of Opus
	latm     bool       // of AAC
	name     string     // of what is not carried
}

// kindOf returns what a table says of a track (ISO/IEC 13818-1, table 2-34).
func kindOf(es *astits.PMTElementaryStream) kind {
	switch es.StreamType {
	case astits.StreamTypeH264Video:
		return kind{codec: flv.CodecAVC}
	case astits.StreamTypeH265Video:
		return kind{codec: flv.CodecHEVC}
	case astits.StreamTypeAACAudio:
		return kind{codec: flv.CodecAAC}
	case astits.StreamTypeAACLATMAudio:
		return kind{codec: flv.CodecAAC, latm: true}
	case astits.StreamTypeMPEG1Audio, astits.StreamTypeMPEG2Audio:
		return kind{codec: flv.CodecMP3}
	case astits.StreamTypeAC3Audio:
		return kind{codec: flv.CodecAC3}
	case astits.StreamTypePrivateData:
		return privateKind(es.ElementaryStreamDescriptors)
	}
	return kind{name: es.StreamType.String()}
}

const (
	opusFormat = 'O'<<24 | 'p'<<16 | 'u'<<8 | 's'
	opusAudio  = 0x80 // extension of a descriptor (ETSI TS Opus 0.1.3, section 5.3)
)

// privateKind returns what descriptors say of a track whose type says nothing.
func privateKind(descriptors []*astits.Descriptor) kind {
	is, channels := false, 0
	for _, d := range descriptors {
		switch {
		case d.Tag == astits.DescriptorTagAC3:
			return kind{codec: flv.CodecAC3} // ETSI EN 300 468, annex D
		case d.Registration != nil:
			is = d.Registration.FormatIdentifier == opusFormat
		case d.Extension != nil && d.Extension.Tag == opusAudio && d.Extension.Unknown != nil:
			var o substructs.OpusAudioDescriptor
			if o.Unmarshal(*d.Extension.Unknown) == nil {
				channels = o.ChannelCount()
			}
		}
	}
	if is && (channels == 1 || channels == 2) {
		return kind{codec: flv.CodecOpus, channels: channels}
	}
	return kind{name: "private data"}
}

// text is what a track is called.
func (k kind) text() string {
	if k.name != "" {
		return k.name
	}
	return k.codec.String()
}

func (k kind) video() bool { return k.codec == flv.CodecAVC || k.codec == flv.CodecHEVC }

// A track is one that is taken, as long as its kind stays.
type track struct {
	pid  uint16
	kind kind
	take func(pts, dts int64, p []byte) error // takes a packet, borrowed until it returns
	// next returns when a packet that says no time is, false when that is not known: not each
	// has to have one (ISO/IEC 13818-1, section 2.7.4).
	next func(p []byte) (pts, dts int64, ok bool)
}

// leftOut is what a track's take returns when its packets show that it cannot be carried: why, in words.
type leftOut string

func (l leftOut) Error() string { return "tsmedia: not carried: " + string(l) }

// newTrack makes the track of a kind that is carried.
func (x *intake) newTrack(pid uint16, k kind) *track {
	t := &track{pid: pid, kind: k, next: func([]byte) (pts, dts int64, ok bool) { return x.onward.at, x.onward.at, x.onward.known }}
	if !k.video() {
		x.onward.known = false
	}
	switch k.codec {
	case flv.CodecAVC, flv.CodecHEVC:
		p := &pictures{intake: x, inBand: au.InBand{Codec: k.codec}}
		t.take, t.next = p.take, p.next
	case flv.CodecAAC:
		if k.latm {
			l := new(loas)
			t.take, t.next = x.spoken(k, &l.cutter, l.frames)
			break
		}
		a := new(adts)
		t.take, t.next = x.spoken(k, &a.cutter, a.frames)
	case flv.CodecOpus:
		config := au.NewOpusConfig(k.channels)
		t.take = func(pts, _ int64, p []byte) error { return x.sound(config, pts, splitOpus(p)) }
	case flv.CodecMP3:
		a := new(mpeg)
		t.take, t.next = x.spoken(k, &a.cutter, a.frames)
	case flv.CodecAC3:
		a := new(dolby)
		t.take, t.next = x.spoken(k, &a.cutter, a.frames)
	}
	return t
}

// spoken is a track of sound whose frames say what they are: AAC, MP3 and AC-3.
type spoken struct {
	*intake
	cutter *cutter // of frames
	frames framesFunc
	codec  flv.FourCC
	later  int64 // when the frame behind the latest one is, ticks
	timed  bool  // the packet says when it is
	empty  int   // bytes without a frame, since the latest one
}

// maxEmpty is how many bytes without a frame are no chance: seconds of sound.
const maxEmpty = 64 << 10

// A framesFunc calls yield with the frames that end in p, and whether they began before it.
type framesFunc func(p []byte, yield func(c *au.Config, frame []byte, before bool) error) error

// spoken returns the functions of such a track, whose frames are those of a cutter.
func (x *intake) spoken(k kind, c *cutter, frames framesFunc) (take func(pts, dts int64, p []byte) error, next func(p []byte) (pts, dts int64, ok bool)) {
	s := &spoken{intake: x, cutter: c, frames: frames, codec: k.codec, timed: true}
	return s.take, s.next
}

// next returns when a packet without a time goes on.
func (x *spoken) next([]byte) (pts, dts int64, ok bool) {
	x.timed = false
	return x.later, x.later, x.later > 0
}

// take takes what a packet has. Its time is that of the first frame that begins in it.
func (x *spoken) take(pts, _ int64, p []byte) error {
	samples, of := 0, (*au.Config)(nil) // since pts
	x.empty += len(p)
	timed := x.timed
	x.timed = true
	length := func(c *au.Config, samples int) int64 { return int64(samples) * 90_000 / int64(max(c.Rate, 1)) }
	err := x.frames(p, func(c *au.Config, frame []byte, before bool) error {
		n := c.Samples(frame)
		x.empty = 0
		if before {
			at := x.later
			x.later += length(c, n)
			if !timed {
				pts = x.later
			}
			return x.sound(c, at, [][]byte{frame})
		}
		if of != nil && of != c {
			pts, samples = pts+length(of, samples), 0
		}
		at := pts + length(c, samples)
		samples, of = samples+n, c
		x.later = pts + length(c, samples)
		return x.sound(c, at, [][]byte{frame})
	})
	if of == nil && timed && x.cutter.begun {
		x.later = pts // the first that begins here ends later
	}
	if err == nil && x.empty > maxEmpty {
		return leftOut(x.codec.String() + " in which there are no frames")
	}
	return err
}

// splitOpus returns the views of the frames in p, each behind its header.
func splitOpus(p []byte) (frames [][]byte) {
	for len(p) > 0 {
		var u substructs.OpusAccessUnit
		n, err := u.Unmarshal(p)
		if err != nil || n <= 0 {
			return frames
		}
		frames = append(frames, u.Packet)
		p = p[n:]
	}
	return frames
}
