package hls

import (
	"bytes"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/mem"
)

// Times in ms.
const (
	// longestSegment is the longest target duration.
	longestSegment = 30_000
	// firstSegment is where a segment ends before the target duration is known, if no
	// key frame comes: players do not wait much longer.
	firstSegment = 15_000
	// rounding is by how much a segment may exceed the target duration, which is in
	// whole seconds: less than a half (rfc8216bis, section 4.4.3.1).
	rounding = 400
	// quiet is for how long a track may say nothing before parts go on without it.
	quiet = 1_000
	// unknown is the same before two pictures have said how often they come.
	unknown = 5_000
	// stillTime is for how long a stream may send units without that its clock goes on, and
	// stillUnits how many of them.
	stillTime, stillUnits = 5_000, 20
)

// silentSegments is how many segments a track may be missing from before it is taken to
// be gone.
const silentSegments = 2

// A segmenter cuts access units into parts and segments. It belongs to one goroutine.
type segmenter struct {
	line    *timeline
	alloc   *mem.Allocator
	least   int64 // duration of a segment, at the next key frame
	partial int64 // duration of a part, at most
	group   func() int64
	now     func() time.Time     // when the latest unit came
	configs func() [2]*au.Config // the newest; nil: not known

	tracks  [2]*track // pictures, sound; nil: not there
	began   bool      // a segment is open
	broken  bool      // the next one begins after a discontinuity
	changed bool      // and with another initialization
	sound   place
	clock   moment // of the latest unit of any track
	forms   forms
	onward  progress // of the clock
	segment int64    // start of the open segment
	part    int64    // start of the open part
	cut     int64    // parts end here at the latest, counted from their start
	fitted  bool     // cut was chosen by the duration of a picture, or is declared
	numbers uint32
}

// newSegmenter makes a segmenter of streams with these tracks, nil for one that there is
// not.
func newSegmenter(line *timeline, alloc *mem.Allocator, video, audio *au.Config, least, partial time.Duration) *segmenter {
	s := &segmenter{
		line: line, alloc: alloc, least: least.Milliseconds(), partial: partial.Milliseconds(),
		now: time.Now, group: func() int64 { return 0 }, changed: true,
	}
	for i, c := range []*au.Config{video, audio} {
		if c != nil {
			s.tracks[i] = newTrack(i, c)
		}
	}
	s.cut = s.partial
	return s
}

// A moment is a time of the stream, without wrapping.
type moment struct {
	at    int64
	known bool
}

// forms remember of each kind of track whether there can be one with the latest
// configuration: finding it out makes an initialization.
type forms [2]struct {
	of   *au.Config
	have bool
}

func (f *forms) have(kind int, c *au.Config) bool {
	if one := &f[kind]; one.of != c {
		one.of, one.have = c, hasForm(c)
	}
	return f[kind].have
}

// put takes a unit, borrowed. It returns false when there is no memory for it. Units
// without a configuration or with one that has no form, and those that cannot be decoded
// yet, are left out.
func (s *segmenter) put(u *au.Unit) bool {
	kind := 1
	if u.Video {
		kind = 0
	}
	if u.Config == nil || !s.forms.have(kind, u.Config) {
		return u.Video || u.Config == nil || s.muted(u)
	}
	t := s.tracks[kind]
	ok := true
	switch {
	case t == nil:
		// A track has come: from the next key frame on.
		if s.waits(u) {
			return true
		}
		t = newTrack(kind, u.Config)
		ok = s.restart(true, s.extend(t, u.Time))
		s.tracks[kind] = t
	case u.Video && u.Key && s.sound.renew != nil:
		sound := s.sound.renew
		ok = s.restart(true, s.extend(t, u.Time))
		t.adopt(u.Config)
		if s.tracks[1] == nil {
			s.tracks[1] = newTrack(1, sound)
		}
		s.tracks[1].adopt(sound)
	case t.config != u.Config:
		if !sameConfig(t.config, u.Config) {
			if s.waits(u) {
				return u.Video || s.muted(u)
			}
			ok = s.restart(true, s.extend(t, u.Time))
		}
		t.adopt(u.Config)
	}
	at := s.extend(t, u.Time)
	earliest := t.latest - back
	if !u.Video && s.sound.filled {
		earliest = t.latest - jump // where it is behind pictures, silence may be further
	}
	if s.began && t.heard && (at < earliest || at > t.latest+jump) {
		ok = s.restart(false, at) && ok
	}
	if at < 0 {
		return ok // before the beginning of the clock
	}
	t.latest, t.heard = at, true
	s.clock = moment{at, true}
	s.onward.take(at, s.now)
	if !ok || s.unsent() > s.line.bound() {
		return false
	}
	if !s.began {
		if s.tracks[0] != nil && !(u.Video && u.Key) {
			return true
		}
		if !s.begin(at) {
			return true
		}
	}
	if u.Video {
		return s.putVideo(t, u, at)
	}
	return s.putAudio(t, u, at)
}

// unsent returns how many bytes no part has yet.
func (s *segmenter) unsent() (n int64) {
	for _, t := range s.tracks {
		if t != nil {
			n += int64(len(t.data))
		}
	}
	return n
}

// still reports that units come, and none is later than those before: no segment of them
// has an end.
func (s *segmenter) still() bool {
	return s.onward.units > stillUnits && s.onward.since > stillTime*time.Millisecond
}

// progress is that of a clock.
type progress struct {
	begun  bool
	latest int64         // the furthest time
	came   time.Time     // when its unit came
	units  int           // since then
	since  time.Duration // from then to the latest of them
}

// take takes the time of a unit that comes now.
func (p *progress) take(at int64, now func() time.Time) {
	if !p.begun || at > p.latest {
		*p = progress{begun: true, latest: at, came: now()}
		return
	}
	if p.units++; p.units > stillUnits {
		p.since = now().Sub(p.came)
	}
}

// waits reports whether a unit of a new track, or with another configuration, is left out until the
// next key frame, so that the other track goes on up to that: pictures, which cannot be decoded before
// it, and sound while there are pictures, which would need a key frame behind a discontinuity.
func (s *segmenter) waits(u *au.Unit) bool {
	if !s.began {
		return false
	}
	if u.Video {
		return !u.Key
	}
	pictures := s.tracks[0]
	if pictures == nil || s.extend(pictures, u.Time)-s.sound.lead-pictures.latest > quiet {
		return false
	}
	s.sound.renew = u.Config
	return true
}

// extend returns a time of the stream, 32 bits of ms, without wrapping: the same for all
// tracks, also when one of them was not heard since a discontinuity.
func (s *segmenter) extend(t *track, at uint32) int64 {
	latest := s.clock.at
	switch {
	case t.heard:
		latest = t.latest
	case !s.clock.known:
		return int64(at)
	}
	extended := latest + int64(int32(at-uint32(latest)))
	if extended < -back {
		extended += 1 << 32 // another clock, which has not begun there
	}
	return extended
}

// sameConfig reports whether a decoder need not begin again.
func sameConfig(a, b *au.Config) bool {
	return a.Codec == b.Codec && a.Rate == b.Rate && a.Channels == b.Channels && bytes.Equal(a.Record, b.Record)
}

// begin opens the first segment, or the first after a discontinuity. It returns false
// when there can be no initialization.
func (s *segmenter) begin(at int64) bool {
	var init *initialization
	if s.configs != nil {
		// The configurations of both tracks change together, mostly.
		for i, c := range s.configs() {
			if t := s.tracks[i]; t != nil && c != nil && t.config != c && s.forms.have(i, c) {
				s.changed = s.changed || !sameConfig(t.config, c)
				t.adopt(c)
			}
		}
	}
	if s.changed {
		var configs [2]*au.Config
		for i, t := range s.tracks {
			if t != nil {
				configs[i] = t.config
			}
		}
		in, err := newInitialization(configs[0], configs[1])
		if err != nil {
			return false
		}
		init = &in
	}
	s.line.open(at, init, s.broken, s.now())
	s.began, s.broken, s.changed = true, true, false
	s.segment, s.part = at, at
	s.sound = place{at: at, renew: s.sound.renew}
	return true
}

// restart ends the open segment, so that the next one begins after a discontinuity, with a unit of
// this time.
func (s *segmenter) restart(changed bool, next int64) bool {
	s.changed = s.changed || changed
	if !s.began {
		return true
	}
	s.line.breaks() // who is woken by the end of the open segment reads of it
	ok := s.finishBefore(moment{next, next > s.part && next > s.clock.at-back && next <= s.clock.at+jump})
	s.began, s.sound.renew, s.onward = false, nil, progress{}
	return ok
}

// finish ends the open segment with what there is.
func (s *segmenter) finish() bool { return s.finishBefore(moment{}) }

// finishBefore is finish where it is known when the next segment begins: there the open one ends.
func (s *segmenter) finishBefore(next moment) bool {
	if !s.began {
		return true
	}
	if pictures := s.tracks[0]; next.known && pictures != nil && next.at > pictures.pendingAt {
		pictures.settle(next.at)
	}
	end := s.part
	for _, t := range s.tracks {
		if t != nil {
			end = max(end, t.flush())
		}
	}
	if next.known {
		end = next.at
	}
	ok := true
	if s.line.low {
		ok = s.catchUp(end)
	} else {
		end = min(end, s.part+max(s.cut, s.line.longest))
	}
	ok = s.endSegment(end) && ok
	for _, t := range s.tracks {
		if t != nil {
			t.reset()
		}
	}
	return ok
}

func (s *segmenter) putVideo(t *track, u *au.Unit, at int64) bool {
	at = max(at, t.pendingAt)
	t.settle(at)
	ok := true
	if t.frame > 0 && !s.fitted {
		s.cut, s.fitted = fitting(s.partial, t.frame), true
	}
	usual := max(t.frame, 1)
	to := at
	if at-s.part > s.cut && s.line.low {
		ok = s.catchUp(at)
		to = s.part // of the pause, the next part has the rest
	}
	switch length := to - s.segment; {
	case u.Key && length >= s.least:
		ok = s.next(to) && ok
	case length > 0 && (length+usual > s.longest() || s.line.size() > s.line.bound()/4):
		ok = s.next(to) && ok // no key frame has come
	case to+usual-s.part > s.cut && enough(to-s.part, s.cut):
		ok = s.endPart(to) && ok
	}
	t.hold(u, at)
	s.sound.beside(at, s.tracks[1])
	return s.fill(at) && ok
}

func (s *segmenter) putAudio(t *track, u *au.Unit, at int64) bool {
	if s.tracks[0] != nil && !t.begun && at < s.segment {
		return true // before the first picture
	}
	if s.sound.came(at, s.tracks[0], t) {
		return true
	}
	ok := true
	if s.tracks[0] == nil {
		usual := t.usual(u)
		to := at
		if at-s.part > s.cut && s.line.low {
			ok = s.catchUp(at)
			to = s.part
		}
		switch length := to - s.segment; {
		case length >= s.least:
			ok = s.next(to) && ok
		case to+usual-s.part > s.cut && enough(to-s.part, s.cut):
			ok = s.endPart(to) && ok
		}
	} else if late := at - s.sound.lead - s.part; late > s.cut+quiet && (s.fitted || late > unknown) {
		// No picture has come for some time.
		ok = s.endDue()
		if s.part-s.segment+s.cut > s.declared() {
			ok = s.next(s.part) && ok
		}
	}
	t.sound(u, at)
	return ok
}

// longest is the most that a segment may last. When the target duration is known already,
// it grows with groups of pictures that become longer: players of browsers cannot begin
// with a segment that has no key frame.
func (s *segmenter) longest() int64 {
	if s.line.target > 0 { // written by this goroutine only
		return longestSegment + rounding
	}
	return firstSegment
}

// declared is the most that a segment without pictures may last, for which the target
// duration does not grow.
func (s *segmenter) declared() int64 {
	if target := s.line.target; target > 0 {
		return target*1000 + rounding
	}
	return firstSegment
}

// fitting returns a duration of parts into which pictures of a frame's duration fit so
// that parts have at least 85 % of it (rfc8216bis, section 4.4.4.9).
func fitting(partial, frame int64) int64 {
	if enough(partial/frame*frame, partial) {
		return partial
	}
	return (partial/frame + 1) * frame
}

// enough reports whether a part of some duration is long enough beside the longest.
func enough(duration, longest int64) bool { return duration > 0 && duration*100 >= longest*85 }

// catchUp ends the parts that are due before at. The unit before has lasted longer than they may.
func (s *segmenter) catchUp(at int64) bool {
	ok := true
	for at-s.part > s.cut {
		ok = s.endDue() && ok
	}
	return ok
}

// endDue ends the open part where it has its longest duration, with the samples that begin before.
// Without any there is no part for this time: a picture that lasts longer than a part is in the one
// that it begins in, and no part may say that it is longer.
func (s *segmenter) endDue() bool {
	to := s.part + s.cut
	p, ok := s.makePart(to, (*track).before)
	s.part = to
	return ok && (p == nil || s.line.add(p))
}

// next ends the open segment and begins another one.
func (s *segmenter) next(at int64) bool {
	if !s.endSegment(at) {
		return false
	}
	if gone := s.silent(); gone >= 0 {
		s.tracks[gone] = nil
		s.changed, s.began = true, false
		return s.begin(max(at, s.tracks[1-gone].latest))
	}
	s.line.open(at, nil, false, s.now())
	s.segment, s.part = at, at
	return true
}

// silent returns the track that has been missing for some segments, -1 for none. Sound that silence
// can be in place of is not missing.
func (s *segmenter) silent() int {
	if s.tracks[0] == nil || s.tracks[1] == nil {
		return -1
	}
	for i, t := range s.tracks {
		if t.missing >= silentSegments && s.tracks[1-i].missing == 0 && (i == 0 || silence(t.config) == nil) {
			return i
		}
	}
	return -1
}

func (s *segmenter) endSegment(at int64) bool {
	last, ok := s.makePart(at, all)
	for _, t := range s.tracks {
		if t != nil {
			t.missing++
			if t.said {
				t.missing = 0
			}
			t.said = false
		}
	}
	group := s.group()
	if s.line.target == 0 && at-s.segment > firstSegment-quiet {
		group = longestSegment // as far as is known
	}
	ok = s.line.complete(last, s.now(), group, s.cut) && ok
	s.cut, s.fitted = max(s.cut, s.line.longest), true // declared by now
	return ok
}

// endPart ends the open part at a time. Without samples it goes on.
func (s *segmenter) endPart(at int64) bool {
	p, ok := s.makePart(at, all)
	return ok && (p == nil || s.line.add(p))
}

// all are the complete samples of a track.
func all(t *track, _ int64) int { return t.complete() }

// makePart returns a part up to a time, with as many samples of each track as of says, nil without
// samples, and false when there is no memory for it.
func (s *segmenter) makePart(at int64, of func(*track, int64) int) (*part, bool) {
	var runs []run
	p := &part{duration: at - s.part, key: true}
	for i, t := range s.tracks {
		if t == nil || of(t, at) == 0 {
			continue
		}
		r := t.run(i+1, of(t, at))
		runs = append(runs, r)
		p.frames += len(r.samples)
		if i == 0 {
			p.key = r.samples[0].key
		}
	}
	if s.tracks[0] != nil && (len(runs) == 0 || runs[0].track != 1) {
		p.key = false
	}
	if len(runs) == 0 || p.duration <= 0 {
		return nil, true
	}
	s.part = at
	s.numbers++
	defer func() {
		for _, r := range runs {
			s.tracks[r.track-1].sent(len(r.samples))
		}
	}()
	b, err := s.alloc.TryGet(fragmentSize(runs))
	if err != nil {
		return nil, false
	}
	n := len(appendFragment(b.Bytes()[:0], s.numbers, runs))
	p.buf = b.RetainedSlice(0, n)
	b.Release()
	return p, true
}
