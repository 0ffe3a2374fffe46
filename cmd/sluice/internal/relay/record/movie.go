package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/flv"
)

const (
	// times that are further from the track's one before begin another file.
	maxBack, maxForward = time.Second, 10 * time.Second
	// clockSet is by how much the clock has to be set, or the stream be behind it, for another file
	// to begin.
	clockSet = time.Second
	// behindFor is how long all units have to be that late: what a line holds up comes in a burst.
	behindFor = 10 * time.Second
)

// movie is the recording of one stream as MP4.
type movie struct {
	recorder *Recorder
	stream   string
	log      *slog.Logger

	split    au.Splitter
	said     bool // the metadata names sound
	timing   au.Timing
	leftOut  omitted
	out      *film // nil between files
	opening  opening
	pace     pace
	resync   bool // frames were skipped: go on at an opening
	begun    bool
	latest   uint32        // time of the newest unit, as the stream has it
	now      time.Duration // the same without wrapping
	clocks   [2]trackClock // of pictures and of sound
	zero     time.Time     // the time of day when now was 0
	anchored bool          // zero is known
	read     time.Time     // the clock, for the newest unit
	late     lateness
	wrong    string // why zero is, which holds until a file can begin; "": it is not
}

// A lateness is by how much the stream is behind its times of day.
type lateness struct {
	least  time.Time // zero by the unit with the least delay since looked
	looked time.Time
}

// A trackClock is the time of a track's newest unit since the times jumped.
type trackClock struct {
	latest time.Duration
	known  bool
}

// run copies the stream until the source ends. The last file is closed then.
func (m *movie) run(ctx context.Context, src Source) error {
	for {
		tags, dropped, err := src.Next(ctx)
		if err == nil {
			if err = contain.Run(m.log, func() error { return m.batch(tags, dropped) }); err != nil {
				return errors.Join(err, m.end("writing failed"))
			}
			continue
		}
		if isContinued(src, err) && m.out != nil {
			return errors.Join(m.out.cut(), m.end(continued))
		}
		reason := "the stream ended"
		if !errors.Is(err, io.EOF) {
			reason = err.Error()
		}
		return m.end(reason)
	}
}

// batch takes whole tags, borrowed until it returns.
func (m *movie) batch(tags []byte, dropped int) error {
	if dropped > 0 {
		m.recorder.dropped.Add(int64(dropped))
		m.log.Warn("the disk is too slow: frames are missing from the recording", "frames", dropped)
		m.resync = m.opening.video
	}
	return eachTag(tags, func(h flv.TagHeader, body []byte) error {
		if h.Type == flv.TagScript && isMetadata(body) {
			m.said = saysSound(body)
		}
		u, ok, err := m.split.Split(h.Type, h.Time, body)
		if err != nil || !ok || m.leftOut.has(u.Codec, u.Config) {
			return nil // a broken frame is left out, as a decoder would
		}
		if u.Config == nil { // the sequence header has not come, or is of another codec
			m.leaveOut(&u, fmt.Errorf("%w: %v without a configuration", mp4.ErrCodec, u.Codec))
			return nil
		}
		if u.Video {
			u.Time, u.Offset = m.timing.Next(u.Time, u.Offset)
		}
		return m.unit(&u)
	})
}

// clock gives a unit its time, and ends the file before one that jumps: back where a track does, and forward
// where that is beyond the other track too: pictures and sound may be seconds apart all the time.
func (m *movie) clock(u *au.Unit) error {
	if !m.begun {
		m.begun, m.latest = true, u.Time
	}
	now := m.now + time.Duration(int32(u.Time-m.latest))*time.Millisecond
	track := &m.clocks[place(u.Video)]
	back, forward := m.now-maxForward, m.now+maxForward
	if track.known {
		back, forward = track.latest-maxBack, max(track.latest+maxForward, forward)
	}
	if now < back || now > forward {
		if err := m.end("the stream's times jumped"); err != nil { // what it has is of the old times of day
			return err
		}
		m.anchored, m.wrong = false, ""
		m.clocks, now = [2]trackClock{}, 0
	}
	*track = trackClock{now, true}
	m.latest, m.now = u.Time, now
	before := m.read
	m.read = m.recorder.now()
	if m.anchored && m.recorder.stepped(before, m.read).Abs() >= clockSet {
		m.wrong, m.late.looked = "the clock was set", time.Time{}
	}
	m.anchor()
	return nil
}

// anchor finds the time of day at 0: the unit that came with the least delay says it. A stream
// that was interrupted goes on without that time, and its clock may be slow: then 0 is later.
func (m *movie) anchor() {
	zero := m.read.Add(-m.now)
	if !m.anchored || m.wrong == "" && zero.Before(m.zero) {
		m.anchored, m.zero = true, zero
	}
	if m.late.looked.IsZero() || zero.Before(m.late.least) {
		m.late.least = zero
	}
	switch {
	case m.late.looked.IsZero():
		m.late.looked = m.read
	case m.read.Sub(m.late.looked) >= behindFor:
		if m.late.least.Sub(m.zero) >= clockSet {
			m.wrong = "the stream is behind its times of day"
		}
		m.late.looked = time.Time{}
	}
}

// unit takes one unit.
func (m *movie) unit(u *au.Unit) error {
	if v, _ := m.split.Configs(); v != nil && !m.leftOut.has(v.Codec, v) || u.Video {
		m.opening.video = true
	}
	if err := m.clock(u); err != nil {
		return err
	}
	var starts bool
	if u.Video {
		starts = m.opening.picture(u.Key)
	} else {
		starts = m.opening.sound(u.Time)
	}
	if m.resync && !starts {
		m.recorder.dropped.Add(1)
		return nil
	}
	if m.resync {
		m.opening.begin(u.Video)
	}
	m.resync = false
	return m.place(u, starts)
}

// place puts a unit, with which a file can begin or not, where it belongs.
func (m *movie) place(u *au.Unit, starts bool) error {
	key := u.Video && starts
	if key && m.out != nil {
		m.out.keyAt = 0
	}
	if m.out != nil && m.out.due(u, m.now, m.expected()) {
		if err := m.flush(u); err != nil {
			return err
		}
		if key {
			m.out.keyAt, m.out.keyLength = m.out.size, m.out.length
		}
		if why := m.enough(); why != "" && starts && m.opening.divides(u.Video) {
			if err := m.end(why); err != nil {
				return err
			}
		}
	}
	// After that, because a file that has just begun has no place for another track.
	_, sound := m.split.Configs()
	if m.out != nil && (m.out.changed(u) || m.out.outdated(u, sound)) {
		if !starts && !u.Video {
			m.out.late = true // the next key frame begins another file: pictures up to it would be lost
			return nil
		}
		if err := m.end("a sequence header changed"); err != nil {
			return err
		}
	}
	if m.out == nil {
		if !starts || !m.pace.allows(m.recorder.now(), m.log) {
			return nil
		}
		if m.wrong != "" {
			m.anchored, m.wrong = false, ""
			m.anchor()
		}
		m.opening.begin(u.Video)
		m.out = &film{}
	}
	if u.Video && m.opening.hidden(u.Key) {
		return nil
	}
	err := m.out.add(u, m.now)
	if errors.Is(err, mp4.ErrCodec) || errors.Is(err, mp4.ErrSyntax) {
		m.leaveOut(u, err)
		return nil
	}
	return err
}

// leaveOut leaves a codec out from a unit on, which has no form in a file.
func (m *movie) leaveOut(u *au.Unit, why error) {
	if m.leftOut.add(u.Codec, u.Config) {
		m.log.Warn("a codec is left out of the recording", "codec", u.Codec, "reason", why)
	}
	m.opening.video = m.opening.video && !u.Video
}

// enough returns why the file should end where the next one can begin, "" when it should not.
func (m *movie) enough() string {
	switch {
	case m.wrong != "":
		return m.wrong
	case m.recorder.full(m.now - m.out.zero):
		return "it is long enough"
	case m.out.lost():
		return lost
	}
	return ""
}

// expected returns how many tracks the stream has, or will have, as far as that is known.
func (m *movie) expected() (n int) {
	video, audio := m.split.Configs()
	if audio == nil && m.said {
		n++
	}
	for _, c := range []*au.Config{video, audio} {
		if c != nil && !m.leftOut.has(c.Codec, c) {
			n++
		}
	}
	return n
}

// flush writes the fragment. next, which may be nil, is the unit that comes after it.
func (m *movie) flush(next *au.Unit) error {
	o := m.out
	o.close(next, m.now)
	if o.f == nil {
		f, err := m.recorder.begin(m.stream, m.log)
		if err != nil {
			return err
		}
		o.file = f
		if m.split.Others() {
			m.log.Warn("the recording has the first track of each kind: as FLV it has all", "file", o.name)
		}
		if err := o.begin(); err != nil {
			return err
		}
	}
	return o.fragment(m.zero)
}

// end ends the file, if there is one.
func (m *movie) end(reason string) error {
	if m.out == nil {
		return nil
	}
	var err error
	if m.out.err == nil && m.out.bytes() > 0 {
		err = m.flush(nil)
	}
	o := m.out
	m.out = nil
	if o.f == nil {
		return err
	}
	err = errors.Join(err, o.end())
	m.recorder.ended(m.stream, o.name, o.size, o.length, reason, m.log)
	return err
}
