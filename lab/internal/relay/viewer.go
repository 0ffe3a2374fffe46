package relay

import (
	"bytes"
	"fmt"
	"time"
)

// A seat follows what one viewer gets: which frame comes next, what is missing,
// how long it took. It is the sink of the viewer's splitter.
type seat struct {
	show   *show
	tally  *tally
	tracks [2]struct {
		began  bool
		first  int // the first frame that came
		next   int // the one that is expected
		got    int
		missed int
	}
	key     time.Duration // when the first key frame was complete; 0: not yet
	which   int           // track of the frame under way
	frame   int           // its number; -1: no frame of the show
	isKey   bool
	offset  int // of the payload that is compared
	replies func(kind uint8, payload []byte) error
}

// A show is what is published, as far as it is.
type show struct {
	clip *Clip
	sent [2][]time.Duration // when each frame of a track was sent
	n    int                // frames
}

// A tally adds up what all seats get.
type tally struct {
	now       time.Duration // when what is fed was read
	delivered int
	lag       lags
	from, to  time.Duration // frames sent in between count for the lag
	oddities  int
	oddity    string // the first
}

// odd notes a frame that is not what was published.
func (t *tally) odd(format string, a, b, c int) {
	if t.oddities++; t.oddities == 1 {
		t.oddity = fmt.Sprintf(format, a, b, c)
	}
}

func (s *seat) started(kind uint8, t uint32, size int, first, second byte) error {
	if sets(kind, first, second) {
		s.frame = -1
		return nil
	}
	s.which = trackOf(kind)
	tr := &s.tracks[s.which]
	expected := -1
	if tr.began {
		expected = tr.next
	}
	n := s.show.clip.find(s.which, t, size, expected)
	switch {
	case n < 0 || n >= len(s.show.sent[s.which]):
		s.frame = -1
		s.tally.odd("no frame of kind %d with %d bytes was published for %d ms", int(kind), size, int(t))
		return nil
	case tr.began && n < tr.next:
		s.frame = -1
		s.tally.odd("the frame of kind %d at %d ms comes after the one at %d ms", int(kind), int(t), int(s.show.clip.timeOf(s.which, tr.next-1)))
		return nil
	case !tr.began:
		tr.began, tr.first = true, n
	default:
		tr.missed += n - tr.next
	}
	tr.next = n + 1
	s.frame, s.offset = n, 0
	s.isKey = s.which == video && isKey(first)
	return nil
}

func (s *seat) ended() error {
	if s.frame < 0 {
		return nil
	}
	s.tracks[s.which].got++
	t := s.tally
	t.delivered++
	if s.isKey && s.key == 0 {
		s.key = t.now
	}
	if sent := s.show.sent[s.which][s.frame]; sent >= t.from && sent < t.to {
		t.lag.add(t.now - sent)
	}
	return nil
}

// passed compares, at a viewer that looks at the payload.
func (s *seat) passed(p []byte) error {
	if s.frame < 0 {
		return nil
	}
	want := s.show.clip.payload(s.which, s.frame)
	if s.offset+len(p) > len(want) || !bytes.Equal(p, want[s.offset:s.offset+len(p)]) {
		return fmt.Errorf("%w: frame %d of track %d has other bytes than were published, among %d to %d", ErrStream, s.frame, s.which, s.offset, s.offset+len(p))
	}
	s.offset += len(p)
	return nil
}

func (s *seat) noted(kind uint8, payload []byte) error { return s.replies(kind, payload) }

// behind reports whether a frame with a number below the ends is still missing.
func (s *seat) behind(ends [2]int) bool {
	return s.tracks[video].next < ends[video] || s.tracks[audio].next < ends[audio]
}

// lost is how many frames below the ends are missing, of those after the first.
func (s *seat) lost(ends [2]int) int {
	n := 0
	for which, tr := range s.tracks {
		n += tr.missed
		if tr.began {
			n += max(0, ends[which]-tr.next)
		} else {
			n += ends[which] // it never got any
		}
	}
	return n
}
