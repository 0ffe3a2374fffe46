package hls

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// A part is a fragment of a segment. Times and durations are ms.
type part struct {
	id       int64
	duration int64
	key      bool // a decoder can start at its first picture
	frames   int
	buf      mem.Buf
}

// A segment is the parts between two boundaries. Only the last one of a timeline may be
// open.
type segment struct {
	number   int64
	parts    []*part
	duration int64
	bytes    int64
	start    int64 // on the stream's clock
	date     int64 // of the start, Unix time; 0 before the first segment is complete
	broken   bool  // a discontinuity is before it
	init     int
	done     bool // complete

	listed int64     // duration of the longest playlist that had it
	until  time.Time // it is held until then; set when it leaves the playlist
}

// A lateness is by how much, in ms, segments came later than they are dated.
type lateness struct {
	since time.Time
	least int64 // 0: the latest did not
}

// lateFor is for how long segments come late that are dated wrong.
const lateFor = 10 * time.Second

// limits are those of a timeline.
type limits struct {
	low      bool // low latency: parts are listed
	segments int  // in the playlist
	bytes    int64
	// take asks for memory and give returns it; both for all streams together. share is
	// a stream's part of that.
	take  func(n int64) bool
	give  func(n int64)
	share func() int64
	// before is how many numbers come before those of the segments.
	before int64
}

// pastSegments are kept when they have left the playlist, for viewers who have read it
// before, however much memory they take. More are kept for as long as RFC 8216, section
// 6.2.2, asks while the stream has half of its memory left.
const pastSegments = 2

// mostSegments is how many a playlist lists at the most, however short they are, as where each key frame brings
// another configuration or another clock: it is written again for each of them.
const mostSegments = 500

// firstNumber is the least number of a segment. hls.js before 1.7 takes a last segment of number 0
// for none, and then does not ask for what comes next before it is there.
const firstNumber = 1

// first is the number of the first segment.
func (l *limits) first() int64 { return firstNumber + l.before }

// A timeline is the segments of a stream, the oldest first. Its writer is one goroutine.
type timeline struct {
	limits
	name string // in addresses, so that caches do not take segments of an earlier timeline

	mu      sync.Mutex
	changed chan struct{} // closed at the next change; nil while no goroutine waits
	inits   []initialization
	all     []*segment
	listed  int   // index in all of the first in the playlist
	lost    int   // discontinuities that have left the playlist
	numbers int64 // of the next segment
	ids     int64
	held    int64
	target  int64 // in whole seconds; 0 before the first segment is complete
	longest int64 // declared duration of parts
	clock   int64 // from the stream's clock to Unix time
	late    lateness
	ended   int64 // date of the end of the latest complete segment
	broken  bool  // the next segment is after a discontinuity, whatever its opener knows
	over    bool
	err     error
	text    []string // of the playlist, without the queries of addresses
}

func newTimeline(l limits) *timeline {
	var p [6]byte
	rand.Read(p[:]) // never fails
	return &timeline{limits: l, name: hex.EncodeToString(p[:]), numbers: l.first()}
}

// notify wakes those who wait for a change. The lock is held.
func (t *timeline) notify() {
	t.text = nil
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// wait waits until ready, which is called with the lock held, and returns with the lock
// held when the error is nil. An error is that of ctx.
func (t *timeline) wait(ctx context.Context, ready func() bool) error {
	t.mu.Lock()
	for !ready() {
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		t.mu.Lock()
	}
	return nil
}

// open begins a segment, whose first unit came now. init is nil to go on with the latest.
func (t *timeline) open(start int64, init *initialization, broken bool, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if init != nil {
		init.number = 0
		if n := len(t.inits); n > 0 {
			init.number = t.inits[n-1].number + 1
			init.follows(&t.inits[n-1])
		}
		t.count(init)
		t.inits = append(t.inits, *init)
	}
	s := &segment{
		number: t.numbers, start: start, broken: (broken || t.broken) && t.numbers > t.first(), init: t.inits[len(t.inits)-1].number,
	}
	if t.target > 0 {
		s.date = t.dateOf(s, now)
	}
	t.all = append(t.all, s)
	t.numbers++
	t.broken = false
	t.notify()
}

// count takes memory for an initialization, which may be far larger than the segments that it is for. Where there is
// none it is not counted: that ends with the first part. The lock is held.
func (t *timeline) count(init *initialization) {
	n := int64(len(init.bytes))
	for t.held+n > t.bound() && t.drop(1) {
	}
	if t.take(n) {
		init.counted = n
		t.held += n
	}
}

// uncount gives that back. The lock is held.
func (t *timeline) uncount(init *initialization) {
	t.held -= init.counted
	t.give(init.counted)
}

// breaks says that a discontinuity is before the next segment.
func (t *timeline) breaks() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken = true
}

// dateOf returns when a segment begins, whose first unit came now. Behind a discontinuity the
// stream's clock may be another one. It knows nothing of the time in which no publisher was there,
// and may be slow: it is behind when for a while all segments came late. Then another offset has
// dates go on as time does, and never back. The lock is held.
func (t *timeline) dateOf(s *segment, now time.Time) int64 {
	date := s.start + t.clock
	switch apart := now.UnixMilli() - date; {
	case s.broken && max(apart, -apart) > back:
		date, t.late = date+apart, lateness{}
	case apart <= back:
		t.late = lateness{}
	case t.late.least == 0:
		t.late = lateness{now, apart}
	default:
		t.late.least = min(t.late.least, apart)
		if now.Sub(t.late.since) >= lateFor {
			date, t.late = date+t.late.least, lateness{}
		}
	}
	date = max(date, t.ended)
	t.clock = date - s.start
	return date
}

// current returns the open segment. The lock is held.
func (t *timeline) current() *segment { return t.all[len(t.all)-1] }

// add appends a part, transferred, to the open segment. It returns false when there is no
// memory for it.
func (t *timeline) add(p *part) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.append(p)
}

// append is add with the lock held.
func (t *timeline) append(p *part) bool {
	n := int64(p.buf.Len())
	for t.held+n > t.bound() && t.drop(1) {
	}
	for !t.take(n) {
		if !t.drop(1) {
			p.buf.Release()
			return false
		}
	}
	t.held += n
	p.id = t.ids
	t.ids++
	s := t.current()
	s.parts = append(s.parts, p)
	s.duration += p.duration
	s.bytes += n
	t.notify()
	return true
}

// bound returns how many bytes of segments there may be.
func (t *timeline) bound() int64 { return min(t.bytes, t.share()) }

// size returns the bytes of the open segment.
func (t *timeline) size() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current().bytes
}

// complete ends the open segment with its last part, transferred, or nil. It returns false
// when there is no memory for that. With the first one the durations are declared that no
// later one exceeds. That of parts never changes (rfc8216bis, section 4.4.3.7); that of
// segments should not, and grows when groups of pictures do: a segment may not be longer
// (section 4.4.3.1), and one that ends before the next key frame leaves those who come
// without a picture.
func (t *timeline) complete(last *part, now time.Time, group, longest int64) (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ok = last == nil || t.append(last)
	s := t.current()
	if len(s.parts) == 0 {
		t.all = t.all[:len(t.all)-1]
		t.listed = min(t.listed, len(t.all))
		t.numbers--
		t.broken = t.broken || s.broken
		return ok
	}
	s.done = true
	if t.target == 0 {
		t.target = max(1, (max(s.duration, group)+500)/1000)
		t.longest = longest
		for _, p := range s.parts {
			t.longest = max(t.longest, p.duration)
		}
		s.date = now.UnixMilli() - s.duration
		t.clock = s.date - s.start
	}
	t.ended = s.date + s.duration
	t.target = max(t.target, (s.duration+500)/1000)
	// A playlist shorter than three target durations is too short (section 6.2.2).
	length := int64(0)
	for _, s := range t.all[t.listed:] {
		length += s.duration
	}
	for _, s := range t.all[t.listed:] {
		s.listed = max(s.listed, length) // with the parts of the segment that was open
	}
	for n := len(t.all) - t.listed; n > t.segments && (n > mostSegments || length-t.all[t.listed].duration >= 3000*t.target); n-- {
		length -= t.all[t.listed].duration
		t.unlist(now)
	}
	for t.listed > pastSegments && (t.held > t.bound()/2 || !now.Before(t.all[0].until)) {
		t.drop(0)
	}
	t.notify()
	return ok
}

// unlist takes the oldest segment out of the playlist. Who has read a playlist with it
// can ask for it for its duration and that of the playlist (RFC 8216, section 6.2.2).
// The lock is held.
func (t *timeline) unlist(now time.Time) {
	s := t.all[t.listed]
	if s.broken {
		t.lost++
	}
	s.until = now.Add(time.Duration(s.duration+s.listed) * time.Millisecond)
	t.listed++
}

// drop forgets the oldest segment, unless there are at most least beside the open one.
// The lock is held.
func (t *timeline) drop(least int) bool {
	if len(t.all)-1 <= least {
		return false
	}
	if t.listed == 0 {
		t.unlist(time.Time{}) // it is dropped at once
	}
	s := t.all[0]
	t.all = slices.Delete(t.all, 0, 1)
	t.listed--
	t.forget(s)
	for len(t.inits) > 1 && t.inits[0].number < t.all[0].init {
		t.uncount(&t.inits[0])
		t.inits = slices.Delete(t.inits, 0, 1)
	}
	return true
}

// isShort reports whether memory is not enough for three target durations, which players are behind.
func (t *timeline) isShort() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	length := int64(0)
	for _, s := range t.all {
		length += s.duration
	}
	dropped := t.numbers-t.first() > int64(len(t.all))
	return dropped && length < 3000*t.target && t.held > t.bound()/2
}

func (t *timeline) forget(s *segment) {
	for _, p := range s.parts {
		p.buf.Release()
	}
	t.held -= s.bytes
	t.give(s.bytes)
}

// end says that nothing follows. An open segment without parts is left out.
func (t *timeline) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.all); n > 0 && len(t.all[n-1].parts) == 0 {
		t.all = t.all[:n-1]
		t.listed = min(t.listed, n-1)
		t.numbers--
	}
	t.over, t.err = true, err
	t.notify()
}

// free releases everything, after end.
func (t *timeline) free() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.all {
		t.forget(s)
	}
	for i := range t.inits {
		t.uncount(&t.inits[i])
	}
	t.all, t.inits, t.listed = nil, nil, 0
	t.notify()
}

// pause is for how long a player may ask for nothing: it reads the playlist again when a target duration has
// passed (RFC 8216, section 6.3.4), and may be late by a half.
func (t *timeline) pause() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Duration(t.target) * time.Second * 3 / 2
}

// find returns the segment of that number, nil when there is none. The lock is held.
func (t *timeline) find(number int64) *segment {
	if len(t.all) == 0 || number < t.all[0].number || number >= t.numbers {
		return nil
	}
	return t.all[number-t.all[0].number]
}

// head returns the bytes of the initialization of that number, nil when there is none. The lock is held.
func (t *timeline) head(number int) []byte {
	for i := range t.inits {
		if t.inits[i].number == number {
			return t.inits[i].bytes
		}
	}
	return nil
}

// findPart returns the part with that id, nil when there is none. The lock is held.
func (t *timeline) findPart(id int64) *part {
	for _, s := range slices.Backward(t.all) {
		if n := len(s.parts); n > 0 && id >= s.parts[0].id {
			if i := int(id - s.parts[0].id); i < n {
				return s.parts[i]
			}
			return nil
		}
	}
	return nil
}

// last returns the number of the newest complete segment, the one before the first when
// there is none. The lock is held.
func (t *timeline) last() int64 {
	if n := len(t.all); n > 0 && !t.all[n-1].done {
		return t.numbers - 2
	}
	return t.numbers - 1
}
