package flv

import (
	"errors"
	"io"
	"math"
	"slices"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/mem"
)

// ProbeOptions are settings of Probe; the zero value is good.
type ProbeOptions struct {
	// Gap is the step of time within a track from which it is one; 0 is a second.
	Gap time.Duration
	// MaxTag is the longest payload that is read, in bytes; 0 is MaxPayload.
	MaxTag int
	// Allocator gives the memory that is read into; nil is mem.Default().
	Allocator *mem.Allocator
}

const (
	mostJumps = 16 // listed
	mostNames = 16 // of script data, listed
)

// Probe reads r to its end, and says what is in it. It holds one tag at a time
// and the first metadata.
//
// A file that ends inside a tag is no error: that is what is left when a
// recorder is killed, and Report.Truncated says so. When the bytes are no FLV,
// from the beginning (ErrSyntax, io.EOF for none, io.ErrUnexpectedEOF for less
// than a header) or from some place on, the report on what is before comes with
// the error.
func Probe(r io.Reader, o ProbeOptions) (Report, error) {
	if r == nil { // which a BufReader takes for one that is fed
		panic("flv: Probe(nil)")
	}
	in := &sluice.BufReader{Allocator: o.Allocator}
	in.Reset(r)
	defer in.Recycle()
	if o.Gap <= 0 {
		o.Gap = time.Second
	}
	p := prober{d: NewDecoder(in), gap: o.Gap.Milliseconds()}
	p.r.Jumps, p.r.Script.Names = []Jump{}, []string{}
	p.d.MaxTag = o.MaxTag
	err := p.run()
	if err != nil {
		p.r.Broken = err.Error()
	}
	p.r.Bytes = in.TotalRead()
	p.r.Tags = p.d.Stats()
	p.finish()
	return p.r, err
}

// A prober is on its way through a file.
type prober struct {
	d     *Decoder
	gap   int64
	r     Report
	video clock
	audio clock
	key   struct { // the last key frame
		seen   bool
		at     int64 // ms
		packet int64
	}
	gops int64 // ms of all whole groups
}

func (p *prober) run() error {
	h, err := p.d.ReadHeader()
	if err != nil {
		return err
	}
	p.r.Header = h
	for {
		t, err := p.d.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return p.truncated(err)
		}
		p.tag(&t)
		t.Release()
	}
}

// truncated keeps an end inside something as a finding.
func (p *prober) truncated(err error) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	p.r.Truncated = &Truncation{Offset: p.d.Offset(), Bytes: int64(p.d.r.Buffered())}
	return nil
}

func (p *prober) tag(t *Tag) {
	b := t.Payload.Bytes()
	switch {
	case t.Type == TagScript:
		p.script(b)
	case len(b) == 0:
		// Some senders mark silence with it, and players pass it over.
	case t.Type == TagVideo:
		if p.r.Video == nil {
			p.r.Video = new(VideoReport)
		}
		p.picture(p.r.Video, t, b)
	case t.Type == TagAudio:
		if p.r.Audio == nil {
			p.r.Audio = new(AudioReport)
		}
		p.sound(p.r.Audio, t, b)
	}
}

func (p *prober) picture(v *VideoReport, t *Tag, b []byte) {
	v.Bytes += int64(len(b))
	h, err := ParseVideo(b)
	if err != nil {
		v.Malformed++
		return
	}
	if h.Frame != FrameCommand {
		v.codec(h.Codec, h.Enhanced)
	}
	switch {
	case h.Config():
		v.Configs++
		c, err := ParseVideoConfig(h.Codec, h.Body(b))
		if err != nil {
			v.Malformed++
			v.ConfigError = err.Error()
		} else if c.Width > 0 {
			v.Width, v.Height, v.Profile, v.Level = c.Width, c.Height, c.Profile, c.Level
		}
	case h.coded():
		at := p.step(&p.video, &v.TrackReport, t)
		if h.Key() {
			p.group(v, at)
		}
		v.Packets++
	case h.Packet == PacketSequenceEnd && h.Frame != FrameCommand:
		v.Ends++
	default:
		v.Others++
	}
}

// group ends a group of pictures and begins another.
func (p *prober) group(v *VideoReport, at int64) {
	v.KeyFrames++
	if p.key.seen {
		g := &v.GOP
		ms, frames := at-p.key.at, v.Packets-p.key.packet
		if g.Groups == 0 {
			g.MinTime, g.MaxTime, g.MinFrames, g.MaxFrames = ms, ms, frames, frames
		}
		g.MinTime, g.MaxTime = min(g.MinTime, ms), max(g.MaxTime, ms)
		g.MinFrames, g.MaxFrames = min(g.MinFrames, frames), max(g.MaxFrames, frames)
		g.Groups++
		p.gops += ms
	}
	p.key.seen, p.key.at, p.key.packet = true, at, v.Packets
}

func (p *prober) sound(a *AudioReport, t *Tag, b []byte) {
	a.Bytes += int64(len(b))
	h, err := ParseAudio(b)
	if err != nil {
		a.Malformed++
		return
	}
	a.codec(h.Codec, h.Enhanced)
	switch {
	case h.Config():
		a.Configs++
		c, err := ParseAudioConfig(h.Codec, h.Body(b))
		if err != nil {
			a.Malformed++
			a.ConfigError = err.Error()
		} else if c.Rate > 0 {
			a.Rate, a.Channels = c.Rate, c.Channels
		}
	case h.coded():
		p.step(&p.audio, &a.TrackReport, t)
		a.Packets++
		if a.Rate == 0 {
			a.uncoded(h, h.Body(b))
		}
	case h.Packet == AudioSequenceEnd:
		a.Ends++
	default:
		a.Others++
	}
}

// uncoded takes rate and channels from where codecs without a sequence header
// have them.
func (a *AudioReport) uncoded(h AudioHeader, body []byte) {
	switch {
	case h.Codec == CodecMP3:
		if c, ok := parseMPEGAudio(body); ok {
			a.Rate, a.Channels = c.Rate, c.Channels
		}
	case h.Codec == CodecSpeex || h.Codec == CodecNelly16k:
		a.Rate, a.Channels = 16000, 1
	case h.Codec == CodecNelly8k:
		a.Rate, a.Channels = 8000, 1
	case !h.Enhanced && h.Codec != CodecAAC:
		a.Rate, a.Channels = h.Rate.Hz(), 1
		if h.Codec == CodecALaw || h.Codec == CodecMuLaw {
			a.Rate = 8000 // which the header cannot say
		}
		if h.Stereo {
			a.Channels = 2
		}
	}
}

func (t *TrackReport) codec(c FourCC, enhanced bool) {
	switch {
	case t.Packets+t.Configs+t.Ends+t.Others == 0:
		t.Codec, t.Enhanced = c, enhanced
	case t.Codec != c:
		t.Changes++
	}
}

// A clock follows the times of a track, which wrap at 32 bits.
type clock struct {
	last uint32
	at   int64
	most int64
}

// step moves to the time of t and returns it, counted on over the wraps.
func (p *prober) step(c *clock, r *TrackReport, t *Tag) int64 {
	if r.Packets == 0 {
		c.last, c.at = t.Time, int64(t.Time)
		r.First, c.most = c.at, c.at
		return c.at
	}
	from := c.at
	delta := int64(int32(t.Time - c.last))
	c.last, c.at = t.Time, c.at+delta
	c.most = max(c.most, c.at)
	switch {
	case delta < 0:
		r.Backward++
	case delta > p.gap:
		r.Gaps++
	default:
		return c.at
	}
	if len(p.r.Jumps) < mostJumps {
		offset := p.d.tagOffset(t)
		p.r.Jumps = append(p.r.Jumps, Jump{Track: t.Type, Offset: offset, From: from, To: c.at})
	}
	return c.at
}

func (p *prober) script(b []byte) {
	s := &p.r.Script
	s.Tags++
	name, values, err := ParseScript(StripSetDataFrame(b))
	if err != nil {
		s.Malformed++
	}
	if name == "" {
		return
	}
	if len(s.Names) < mostNames && !slices.Contains(s.Names, name) {
		s.Names = append(s.Names, name)
	}
	if name != OnMetaData || len(values) == 0 || s.Metadata != nil {
		return
	}
	s.Metadata = Metadata(amf0.Properties(values[0]))
}

// finish works out what is known at the end only.
func (p *prober) finish() {
	r := &p.r
	var tracks []*TrackReport
	if v := r.Video; v != nil {
		v.finish(&p.video)
		tracks = append(tracks, &v.TrackReport)
		if v.Packets > 1 && v.Last > v.First {
			v.FrameRate = float64(v.Packets-1) * 1000 / float64(v.Last-v.First)
		}
		if g := &v.GOP; g.Groups > 0 {
			g.MeanTime = float64(p.gops) / float64(g.Groups)
		}
	}
	if a := r.Audio; a != nil {
		a.finish(&p.audio)
		tracks = append(tracks, &a.TrackReport)
	}
	begin, end := int64(math.MaxInt64), int64(math.MinInt64)
	for _, t := range tracks {
		if t.Packets > 0 {
			begin, end = min(begin, t.First), max(end, t.First+t.Duration)
		}
	}
	if end > begin {
		r.Duration = end - begin
	}
	r.Bitrate = bitrate(r.Bytes, r.Duration)
}

func (t *TrackReport) finish(c *clock) {
	t.Last = c.most
	if t.Packets > 1 {
		span := t.Last - t.First
		t.Duration = span + (span+(t.Packets-1)/2)/(t.Packets-1)
	}
	t.Bitrate = bitrate(t.Bytes, t.Duration)
}

func bitrate(bytes, ms int64) int64 {
	if ms <= 0 {
		return 0
	}
	return int64(float64(bytes) * 8000 / float64(ms))
}
