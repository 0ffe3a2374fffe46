package rtpmedia

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// An Intake converts the packets of a source's tracks into frames of a stream. Of each
// kind it takes the first track whose codec it knows.
type Intake struct {
	tracks  []*track // nil: passed over
	joiner  au.Joiner
	publish func(live.Frame) error
	leftOut func(what string) // nil: what is left out is not said
	begun   bool              // metadata was published
	first   *track            // whose first unit is the origin of the times
	opening opening

	// A track was set back last by so much, then.
	shift   time.Duration
	shifted time.Time
}

// track is one track of an Intake.
type track struct {
	intake    *Intake
	format    Format
	collector *Collector
	config    *au.Config // nil before it is known
	inBand    au.InBand
	decode    decodeTimes
	units     [][]byte
	playing   bool // there was a unit

	// Timestamps, extended to 64 bits.
	latest int64
	known  bool
	begin  int64         // the first
	came   time.Time     // when that was
	from   time.Duration // what the stream's clock says at the first
	now    time.Time     // when the packet in work came
	last   time.Duration // time of the latest unit, which came
	lastAt time.Time

	// The sender's clock says reportWall at reportTicks, in a report that came then.
	reported    bool
	reportWall  time.Duration
	reportTicks int64
	reportCame  time.Time
}

// An opening holds the first packets of two tracks until there is a report on each, which
// says how picture and sound belong together: the first units decide that. A sender sends
// the reports first, but they may come by another socket, or be read by another goroutine.
type opening struct {
	begun time.Time // when the first packet came; zero: none has come
	over  bool
	held  []heldPacket
	bytes int                   // of them
	hold  func(bytes int) error // see Bound; nil: no bound
}

type heldPacket struct {
	track  int
	packet mem.Buf
	now    time.Time
}

// lead is the time of a stream's first unit: pictures that are decoded before they
// are shown, and tracks that begin a little earlier, have times before it.
const lead = 500 * time.Millisecond

// distrust is by how much the clocks of a sender's tracks may differ from the order of
// arrival. Cameras exist whose clocks are years apart.
const distrust = 5 * time.Second

// heldBack is the same where reports come as one clock says that they were sent. A sender may hold one
// track back, for the order of all: ffmpeg does for 10 s, until sound or pictures that begin late come.
const heldBack = 12 * time.Second

// oneClock is by how much the arrival of reports, or packets, may differ from what one clock says.
const oneClock = time.Second

// NewIntake makes an Intake of units of at most limit bytes. publish takes frames, whose
// payloads are transferred; its error ends the Intake. An error matches ErrCodec: no
// track can be taken.
func NewIntake(tracks []Track, alloc *mem.Allocator, limit int, publish func(live.Frame) error) (*Intake, error) {
	x := &Intake{publish: publish, tracks: make([]*track, len(tracks))}
	var video, audio bool
	var err error
	for i, t := range tracks {
		have := &audio
		if t.Video {
			have = &video
		}
		if t.Err != nil {
			err = t.Err
		}
		if *have || t.Err != nil {
			continue
		}
		*have = true
		one := &track{intake: x, format: t.Format, config: t.Config, inBand: au.InBand{Codec: t.Codec}}
		if t.Video && t.Config != nil {
			one.inBand.Start(t.Config.Sets)
		}
		one.decode.codec = t.Codec
		one.collector = NewCollector(t.Format, alloc, limit, one.take)
		x.tracks[i] = one
	}
	if !video && !audio {
		if err == nil {
			err = fmt.Errorf("%w: no track of sound or pictures", ErrCodec)
		}
		return nil, err
	}
	return x, nil
}

// Bound makes x call hold with how many bytes it has of frames that have no end yet, and of packets
// that wait for others, in steps of 64 KiB, and with 0 when that is over. An error of hold ends the
// track. Call it not during Push.
func (x *Intake) Bound(hold func(bytes int) error) {
	sum := 0
	part := func() func(int) error {
		last := 0
		return func(n int) error {
			sum += n - last
			last = n
			return hold(sum)
		}
	}
	for _, t := range x.tracks {
		if t != nil {
			t.collector.hold = part()
		}
	}
	x.opening.hold = part()
}

// Repair says that the sender is asked for packets of pictures that are missing: others
// are held for them up to a time, which is longer than it takes to get them. Call it
// before Push.
func (x *Intake) Repair(within time.Duration) {
	for _, t := range x.tracks {
		if t != nil && t.format.Video {
			t.collector.order.repair = within
		}
	}
}

// OnLeftOut makes x call f from Push with what a track is whose pictures are left out, and
// why. Call it before Push.
func (x *Intake) OnLeftOut(f func(what string)) { x.leftOut = f }

// Takes reports whether the track's packets count.
func (x *Intake) Takes(track int) bool {
	return track >= 0 && track < len(x.tracks) && x.tracks[track] != nil
}

// TrackOf returns the track whose packets have a payload type; false: there is none, or two.
func (x *Intake) TrackOf(payloadType uint8) (track int, ok bool) {
	for i, t := range x.tracks {
		if t != nil && t.format.PayloadType == payloadType {
			if ok {
				return 0, false
			}
			track, ok = i, true
		}
	}
	return track, ok
}

// Control takes an RTCP packet of a track, borrowed until it returns.
func (x *Intake) Control(track int, p []byte, now time.Time) {
	if !x.Takes(track) {
		return
	}
	t := x.tracks[track]
	wall, at, ok := t.collector.Control(p, now)
	if !ok {
		return
	}
	t.reported, t.reportCame = true, now
	t.reportWall = time.Duration(wall>>32)*time.Second + time.Duration((wall&0xffffffff)*1e9>>32)
	t.reportTicks = int64(at)
	if t.known {
		t.reportTicks = t.latest + int64(int32(at-uint32(t.latest)))
	}
}

// Report returns a receiver report on a track; nil when there is nothing to say.
func (x *Intake) Report(track int, now time.Time) []byte {
	if !x.Takes(track) {
		return nil
	}
	return x.tracks[track].collector.Report(now)
}

// Losses returns what all tracks have missed.
func (x *Intake) Losses() Losses {
	var sum Losses
	for _, t := range x.tracks {
		if t != nil {
			l := t.collector.Losses()
			sum.Packets, sum.Late, sum.Units = sum.Packets+l.Packets, sum.Late+l.Late, sum.Units+l.Units
		}
	}
	return sum
}

// begin publishes the metadata, which says what tracks there are.
func (x *Intake) begin() error {
	if x.begun {
		return nil
	}
	x.begun = true
	info := amf0.ECMAArray{}
	for _, t := range x.tracks {
		if t == nil {
			continue
		}
		name := "audiocodecid"
		if t.format.Video {
			name = "videocodecid"
			if width, height := t.size(); width > 0 {
				info = append(info, amf0.Property{Name: "width", Value: float64(width)}, amf0.Property{Name: "height", Value: float64(height)})
			}
		}
		info = append(info, amf0.Property{Name: name, Value: codecID(t.format.Codec)})
	}
	p, err := flv.AppendScript(nil, flv.OnMetaData, info)
	if err != nil {
		return err
	}
	// At 0, or ffmpeg takes it for subtitles.
	return x.publish(live.Frame{Type: flv.TagScript, Payload: mem.Wrap(p, nil)})
}

// announce publishes the sequence header of sound before the first key frame, if the sender has reported on it or a
// packet has come. In a stream whose publisher came back with other sound, what is made of the stream can begin again
// with that key frame. Sound that is only described may never come.
func (x *Intake) announce(at uint32) error {
	for i, t := range x.tracks {
		if t == nil || t.format.Video || t.config == nil || !t.reported && !x.opening.has(i) {
			continue
		}
		if h, ok := x.joiner.Header(t.config, at); ok {
			return x.publish(h)
		}
	}
	return nil
}

// size is that of the pictures, 0 when it is not known.
func (t *track) size() (width, height int) {
	if t.config == nil {
		return 0, 0
	}
	if v, err := flv.ParseVideoConfig(t.format.Codec, t.config.Record); err == nil && v.Width > 0 {
		return v.Width, v.Height
	}
	return t.config.Width, t.config.Height
}

// codecID is a codec in metadata: its number, or the fourcc (enhanced RTMP, version 2).
func codecID(c flv.FourCC) float64 {
	switch c {
	case flv.CodecAVC:
		return 7
	case flv.CodecAAC:
		return 10
	case flv.CodecMP3:
		return 2
	case flv.CodecALaw:
		return 7
	case flv.CodecMuLaw:
		return 8
	}
	return float64(c)
}

// take takes a unit of the track.
func (t *track) take(s Sample) error {
	u := au.Unit{Video: t.format.Video, Codec: t.format.Codec, Key: !t.format.Video}
	media := s.Packed.Bytes()[au.Room:]
	if u.Video {
		if err := t.look(&u, media); err != nil || t.config == nil || !t.playing && !u.Key {
			s.Packed.Release()
			return nil // before the first key frame, or nothing that a decoder could use
		}
	} else if t.format.Codec == flv.CodecMP3 && !t.playing {
		c := au.SoundConfig(t.format.Codec, media)
		if c == nil {
			s.Packed.Release()
			return nil
		}
		t.config = c
	}
	shown := t.place(s.Timestamp, s.Another)
	decoded := shown
	if u.Video {
		ticks := t.decode.at(t.config, u.Key, t.units, t.latest)
		decoded = t.time(ticks)
	}
	t.playing = true
	u.Config = t.config
	u.Time = ms(decoded)
	u.Offset = int32(ms(shown) - u.Time)
	first := !t.intake.begun
	err := t.intake.begin()
	if h, new := t.intake.joiner.Header(u.Config, u.Time); new {
		if err != nil {
			h.Payload.Release()
		} else {
			err = t.intake.publish(h)
		}
	}
	if err == nil && first {
		err = t.intake.announce(u.Time)
	}
	if err != nil {
		s.Packed.Release()
		return err
	}
	f, err := t.intake.joiner.Frame(&u, s.Packed)
	if err != nil {
		return nil // an offset beyond two hours: the picture is left out
	}
	return t.intake.publish(f)
}

// look finds out whether a picture is one to start at, and its configuration.
func (t *track) look(u *au.Unit, media []byte) error {
	var err error
	t.units = t.units[:0]
	switch t.format.Codec {
	case flv.CodecAVC, flv.CodecHEVC:
		t.units, err = au.SplitLengths(t.units, media)
	case flv.CodecAV1:
		t.units, err = au.SplitOBUs(t.units, media)
	case flv.CodecVP9:
		var c *au.Config
		if c, u.Key = au.VP9Key(media); u.Key {
			t.config = c
		}
		return nil
	}
	if err != nil {
		return err
	}
	_, u.Key = t.inBand.Learn(t.units)
	if c := t.inBand.Config(); c != nil {
		t.config = c
	} else if u.Key {
		if what, say := t.inBand.Bare(); say && t.intake.leftOut != nil {
			t.intake.leftOut(what)
		}
	}
	return nil
}

// place extends the timestamp of a unit and returns its time in the stream. The first
// unit places the track beside the others: by the sender's clocks if both are known,
// else by arrival.
func (t *track) place(timestamp uint32, another bool) time.Duration {
	if !t.known {
		t.known, t.latest, t.begin, t.came = true, int64(timestamp), int64(timestamp), t.now
		if t.reported {
			t.reportTicks = t.latest + int64(int32(uint32(t.reportTicks)-timestamp))
		}
		x := t.intake
		t.from = lead
		if x.first == nil {
			x.first = t
		} else {
			t.from = t.beside(x.first)
		}
	} else {
		step := int64(int32(timestamp - uint32(t.latest)))
		t.latest += step
		if t.jumps(t.span(step), another) {
			t.resume()
		}
	}
	t.last, t.lastAt = t.time(t.latest), t.now
	return t.last
}

// beside returns where the track's first unit is beside the first one of another track.
func (t *track) beside(o *track) time.Duration {
	arrived := lead + t.came.Sub(o.came)
	mine, ok := t.wall()
	its, both := o.wall()
	if !ok || !both {
		return arrived
	}
	sent := lead + mine - its
	apart := (sent - arrived).Abs()
	clocks := (t.reportWall - o.reportWall - t.reportCame.Sub(o.reportCame)).Abs()
	if apart < distrust || apart < heldBack && clocks < oneClock && sent >= 0 && !t.early() && !o.early() {
		return sent
	}
	return arrived
}

// early reports whether the first unit came before the time that its report gives it: what was held back comes behind it.
func (t *track) early() bool {
	wall, _ := t.wall()
	return wall-t.reportWall-t.came.Sub(t.reportCame) > oneClock
}

// setBack is by how much timestamps go back when the sender's clock was set back, or
// another one is used: more than pictures go back in the order in which they are shown.
const setBack = 10 * time.Second

// setForward is by how much more timestamps go forward than time has gone by when that clock was set forward. A
// sender that is faster than time may send sound with such pauses in it that are shorter.
const setForward = time.Minute

// jumps reports whether a timestamp is of another clock than the one before it, from which it is so far: the
// timestamps of another source begin anywhere (RFC 3550, section 5.1).
func (t *track) jumps(step time.Duration, another bool) bool {
	ahead := step - t.now.Sub(t.lastAt)
	return step < -setBack || ahead > setForward || another && ahead.Abs() > oneClock
}

// resume has the track go on where it was, by arrival, when its timestamps are of another clock.
// Those of all tracks do so together: then by the same time, so that they stay together.
func (t *track) resume() {
	x := t.intake
	shift := t.last + t.now.Sub(t.lastAt) - t.time(t.latest)
	if !x.shifted.IsZero() && t.now.Sub(x.shifted) < setBack && (shift-x.shift).Abs() < time.Second {
		shift = x.shift
	}
	x.shift, x.shifted = shift, t.now
	t.from += shift
	t.decode.reset()
}

// wall is the sender's clock at the track's first unit.
func (t *track) wall() (time.Duration, bool) {
	return t.reportWall + t.span(t.begin-t.reportTicks), t.reported
}

// time is the stream's time of a timestamp.
func (t *track) time(ticks int64) time.Duration { return t.from + t.span(ticks-t.begin) }

func (t *track) span(ticks int64) time.Duration {
	clock := int64(t.format.Clock)
	return time.Duration(ticks/clock)*time.Second + time.Duration(ticks%clock)*time.Second/time.Duration(clock)
}

// ms is a time in the milliseconds of FLV, none before 0. It wraps as they do.
func ms(d time.Duration) uint32 {
	return uint32(max(0, d+time.Millisecond/2) / time.Millisecond)
}
