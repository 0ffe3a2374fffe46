package hls

import (
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// Where parts and segments end. Times in ms.
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
)

// silentSegments is how many segments pictures may be missing from before they are taken to
// be gone.
const silentSegments = 2

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
		ends := s.part+2*s.cut-s.segment > s.declared()
		if ends {
			s.keepLast(s.part + s.cut)
		}
		ok = s.endDue()
		if ends {
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
	if s.picturesGone() {
		s.tracks[0] = nil
		s.changed, s.began = true, false
		return s.begin(max(at, s.tracks[1].latest))
	}
	s.line.open(at, nil, false, s.now())
	s.segment, s.part = at, at
	return true
}

// keepLast gives the last picture a duration up to a time, at which the segment ends with which pictures are taken to be
// gone: it would be left out, and players of browsers stand still where pictures end before sound.
func (s *segmenter) keepLast(at int64) {
	pictures := s.tracks[0]
	if !pictures.said && pictures.missing+1 >= silentSegments && at > pictures.pendingAt {
		pictures.settle(at)
	}
}

// picturesGone reports whether pictures have been missing for some segments, while sound was there. Sound is
// never taken to be gone: silence is in its place.
func (s *segmenter) picturesGone() bool {
	pictures, sound := s.tracks[0], s.tracks[1]
	return pictures != nil && sound != nil && pictures.missing >= silentSegments && sound.missing == 0
}

// alone takes the time of a unit that no segment is open for, and reports whether pictures are taken to
// be gone: for as long as they may be missing from segments only sound has come.
func (s *segmenter) alone(video bool, at int64) bool {
	since := &s.sound.waits
	switch {
	case video:
		*since = moment{}
	case !since.known || at < since.at:
		*since = moment{at, true}
	case at-since.at > silentSegments*s.declared():
		s.tracks[0], s.changed = nil, true
		return true
	}
	return false
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
	front := s.line.inits[len(s.line.inits)-1].front // written by this goroutine only
	for _, i := range [2]int{front, 1 - front} {
		t := s.tracks[i]
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
	if s.tracks[0] != nil && !slices.ContainsFunc(runs, func(r run) bool { return r.track == 1 }) {
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
