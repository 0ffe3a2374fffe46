package hls

import (
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/mem"
)

// A segmenter cuts access units into parts and segments. It belongs to one goroutine.
type segmenter struct {
	line    *timeline
	alloc   *mem.Allocator
	least   int64 // duration of a segment, at the next key frame
	partial int64 // duration of a part, at most
	group   func() int64
	now     func() time.Time     // when the latest unit came, by the stream's clock
	read    func() time.Time     // the clock
	configs func() [2]*au.Config // the newest; nil: not known

	tracks  [2]*track // pictures, sound; nil: not there
	began   bool      // a segment is open
	broken  bool      // the next one begins after a discontinuity
	changed bool      // and with another initialization
	sound   place
	clock   clock
	forms   forms
	segment int64 // start of the open segment
	part    int64 // start of the open part
	cut     int64 // parts end here at the latest, counted from their start
	fitted  bool  // cut was chosen by the duration of a picture, or is declared
	numbers uint32
}

// newSegmenter makes a segmenter of streams with these tracks, nil for one that there is
// not.
func newSegmenter(line *timeline, alloc *mem.Allocator, video, audio *au.Config, least, partial time.Duration) *segmenter {
	s := &segmenter{
		line: line, alloc: alloc, least: least.Milliseconds(), partial: partial.Milliseconds(),
		now: time.Now, read: time.Now, group: func() int64 { return 0 }, changed: true,
	}
	for i, c := range []*au.Config{video, audio} {
		if c != nil {
			s.tracks[i] = newTrack(i, c)
		}
	}
	s.cut = s.partial
	return s
}

// put takes a unit, borrowed, whose times it may change. It returns false when there is no memory for it. Units
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
	u.Time += s.aside(u)
	given, early := u.Time, int64(0)
	if u.Video {
		u.Time, u.Offset = s.clock.timing.Next(u.Time, u.Offset)
		early = int64(int32(given - u.Time))
	}
	t := s.tracks[kind]
	ok := true
	if u.Video && u.Key {
		s.announced()
	}
	switch {
	case t == nil:
		// A track has come: from the next key frame on.
		if s.waits(u) {
			return true
		}
		t = newTrack(kind, u.Config)
		t.inBand = true // it may have been there before, with others
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
		if !t.config.Equal(u.Config) {
			if s.waits(u) {
				return u.Video || s.muted(u)
			}
			ok = s.restart(true, s.extend(t, u.Time))
		}
		t.adopt(u.Config)
	}
	at := s.extend(t, given) - early
	earliest := t.latest - back
	if !u.Video && s.sound.filled {
		earliest = t.latest - jump // where it is behind pictures, silence may be further
	}
	if s.began && t.heard && (at < earliest || at > t.latest+jump || s.stepped(at)) {
		ok = s.restart(false, at) && ok
	}
	at, ok = s.near(at, ok)
	if at < 0 {
		if at+early < 0 {
			return ok // before the beginning of the clock
		}
		at, u.Offset = 0, int32(max(int64(u.Offset)+at, 0))
	}
	t.latest, t.heard = at, true
	s.clock.moment, s.clock.took = moment{at, true}, s.read()
	s.clock.onward.take(at, s.now)
	if !ok || s.unsent() > s.line.bound() {
		return false
	}
	if !s.began {
		if s.tracks[0] != nil && !(u.Video && u.Key) && !s.alone(u.Video, at) {
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

// announced looks, before a key frame, whether sound has other parameters by a sequence header of which no frame has
// come: it begins with this key frame then. With the next one, silence would be in its place up to that.
func (s *segmenter) announced() {
	t := s.tracks[1]
	if s.configs == nil || !s.began || t == nil || s.sound.renew != nil {
		return
	}
	if c := s.configs()[1]; c != nil && !t.config.Equal(c) && s.forms.have(1, c) {
		s.sound.renew = c
	}
}

// begin opens the first segment, or the first after a discontinuity. It returns false
// when there can be no initialization.
func (s *segmenter) begin(at int64) bool {
	var init *initialization
	if s.configs != nil {
		// The configurations of both tracks change together, mostly.
		for i, c := range s.configs() {
			if t := s.tracks[i]; t != nil && c != nil && t.config != c && s.forms.have(i, c) {
				s.changed = s.changed || !t.config.Equal(c)
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
	s.began, s.sound.renew, s.clock.onward = false, nil, progress{}
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
	end = min(end, s.part+longestSegment) // a track may be years ahead of the other
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
