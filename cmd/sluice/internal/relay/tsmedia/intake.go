package tsmedia

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/ac3"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mpegts"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mpegts/codecs"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// Options of an Intake.
type Options struct {
	Alloc    *mem.Allocator
	MaxFrame int                        // bytes of a unit
	Publish  func(live.Frame) error     // takes frames, whose payloads are transferred
	LeftOut  func(codec string)         // is called for each track that is not taken
	Exclude  func(f func() error) error // runs what may block for the stream; nil calls it
	// Hold, unless it is nil, is called with how many bytes of units are collected that have
	// no end yet, in steps of 64 KiB, and with 0 when they are fewer. Its error is Read's.
	Hold func(bytes int) error
}

// Read reads a transport stream from r and publishes the first track of pictures and the
// first of sound that are carried. It returns when r or Publish fails, with that error,
// or with one that matches one of this package. Input that the library behind it cannot
// bear is ErrSyntax.
func Read(r io.Reader, o Options) (err error) {
	g := newGuard(r, o.MaxFrame, o.Hold)
	x := &intake{Options: o}
	defer func() {
		if fault := recover(); fault != nil {
			if x.publishing {
				panic(fault)
			}
			err = fmt.Errorf("%w: %v", ErrSyntax, fault)
		}
	}()
	m := &mpegts.Reader{R: g}
	if err := m.Initialize(); err != nil {
		if errors.Is(err, ErrSyntax) || errors.Is(err, ErrTooLong) || errors.Is(err, io.EOF) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	g.probing = -1
	if err := x.choose(m); err != nil {
		return err
	}
	for {
		if err := m.Read(); err != nil {
			return err
		}
	}
}

// intake converts the units of a transport stream.
type intake struct {
	Options
	joiner     au.Joiner
	inBand     au.InBand
	adts       adts
	later      int64 // when the frame of AAC behind the latest one is, ticks
	clock      clock
	info       metadata
	playing    bool // there was a key frame
	begun      bool // metadata was published
	publishing bool // our own code runs
}

// choose takes the tracks.
func (x *intake) choose(m *mpegts.Reader) error {
	var video, audio bool
	for _, t := range m.Tracks() {
		name := fmt.Sprintf("%T", t.Codec)
		switch c := t.Codec.(type) {
		case *codecs.H264:
			if !video {
				video, x.inBand.Codec = true, flv.CodecAVC
				m.OnDataH264(t, x.picture)
				continue
			}
		case *codecs.H265:
			if !video {
				video, x.inBand.Codec = true, flv.CodecHEVC
				m.OnDataH265(t, x.picture)
				continue
			}
		case *codecs.MPEG4Audio:
			if !audio {
				audio, x.info.audio = true, flv.CodecAAC
				// The library's own callback does not say what each frame is, and wants
				// whole ones.
				m.OnDataMPEG1Video(t, x.aac)
				continue
			}
		case *codecs.Opus:
			if channels := c.Desc.ChannelCount(); !audio && channels >= 1 && channels <= 2 {
				config := au.NewOpusConfig(channels)
				audio, x.info.audio = true, flv.CodecOpus
				m.OnDataOpus(t, func(pts int64, units [][]byte) error { return x.sound(config, pts, units) })
				continue
			}
		case *codecs.MPEG1Audio:
			if !audio {
				audio, x.info.audio = true, flv.CodecMP3
				m.OnDataMPEG1Audio(t, func(pts int64, units [][]byte) error { return x.plain(flv.CodecMP3, pts, units) })
				continue
			}
		case *codecs.AC3:
			if !audio {
				audio, x.info.audio = true, flv.CodecAC3
				// The library's own callback refuses several frames together, as ffmpeg
				// sends them; this one gives what there is.
				m.OnDataMPEG1Video(t, func(pts int64, p []byte) error { return x.plain(flv.CodecAC3, pts, splitAC3(p)) })
				continue
			}
		}
		if x.LeftOut != nil {
			x.LeftOut(name[len("*codecs."):])
		}
	}
	if !video && !audio {
		return ErrCodec
	}
	x.info.video = x.inBand.Codec
	return nil
}

// picture takes the units of a picture, borrowed until it returns.
func (x *intake) picture(pts, dts int64, units [][]byte) error {
	_, key := x.inBand.Learn(units)
	config := x.inBand.Config()
	decoded := x.clock.at(0, dts)
	shown := max(decoded+difference(pts, dts), 0)
	if config == nil || !x.playing && !key {
		return nil
	}
	x.playing = true
	if x.info.config == nil {
		x.info.config = config
	}
	u := au.Unit{Video: true, Codec: x.inBand.Codec, Time: ms(decoded), Key: key, Config: config, Parts: units}
	u.Offset = int32(ms(shown) - u.Time)
	n := 0
	for _, p := range units {
		n += 4 + len(p)
	}
	return x.publish(&u, n, func(dst []byte) { au.AppendLengths(dst, units) })
}

// splitAC3 returns the views of the whole frames in p.
func splitAC3(p []byte) (frames [][]byte) {
	for {
		var s ac3.SyncInfo
		if s.Unmarshal(p) != nil {
			return frames
		}
		n := s.FrameSize()
		if n <= 0 || n > len(p) {
			return frames
		}
		frames = append(frames, p[:n])
		p = p[n:]
	}
}

// aac takes what a packet has of AAC, borrowed until it returns. Its time is that of the
// first frame that begins in it.
func (x *intake) aac(pts int64, p []byte) error {
	samples, of := 0, (*au.Config)(nil) // since pts
	length := func(c *au.Config, samples int) int64 { return int64(samples) * 90_000 / int64(max(c.Rate, 1)) }
	return x.adts.frames(p, func(c *au.Config, frame []byte, before bool) error {
		n := c.Samples(frame)
		if before {
			at := x.later
			x.later += length(c, n)
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
}

// plain takes frames of sound that say themselves what they are.
func (x *intake) plain(codec flv.FourCC, pts int64, units [][]byte) error {
	if len(units) == 0 {
		return nil
	}
	config := au.SoundConfig(codec, units[0])
	if config == nil {
		return nil
	}
	return x.sound(config, pts, units)
}

// sound takes frames, borrowed until it returns, that follow one another.
func (x *intake) sound(config *au.Config, pts int64, units [][]byte) error {
	at := x.clock.at(1, pts)
	samples := 0
	for _, p := range units {
		if len(p) == 0 {
			continue
		}
		u := au.Unit{Codec: config.Codec, Key: true, Config: config, Parts: [][]byte{p}}
		u.Time = ms(at + int64(samples)*90_000/int64(max(config.Rate, 1)))
		samples += config.Samples(p)
		if err := x.publish(&u, len(p), func(dst []byte) { _ = append(dst, p...) }); err != nil {
			return err
		}
	}
	return nil
}

// publish packs a unit of n bytes and publishes it, with what has to come before it.
func (x *intake) publish(u *au.Unit, n int, pack func(dst []byte)) error {
	x.publishing = true
	defer func() { x.publishing = false }()
	if n > x.MaxFrame {
		return fmt.Errorf("%w: %d bytes", ErrTooLong, n)
	}
	if !x.begun {
		x.begun = true
		if err := x.frame(x.info.frame()); err != nil {
			return err
		}
	}
	if h, ok := x.joiner.Header(u.Config, u.Time); ok {
		if err := x.frame(h); err != nil {
			return err
		}
	}
	b, err := x.Alloc.TryGet(au.Room + n)
	if err != nil {
		return err
	}
	pack(b.Bytes()[au.Room:au.Room])
	f, err := x.joiner.Frame(u, b)
	if err != nil {
		return nil // an offset that FLV cannot carry: the picture is left out
	}
	return x.frame(f)
}

func (x *intake) frame(f live.Frame) error {
	if x.Exclude != nil {
		return x.Exclude(func() error { return x.Publish(f) })
	}
	return x.Publish(f)
}

// Tick is the time of one tick of a transport stream's clock.
const Tick = time.Second / 90_000
