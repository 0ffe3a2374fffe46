package live

import (
	"slices"
	"time"
)

// What a viewer on a slow line is sent: as much as the line carries, and always
// of now. When what would come next would arrive too late, pictures are left out
// up to a key frame, so that what arrives can be decoded; sound goes on.
//
//	            at a key frame that would be a little late: leave the group out
//	 everything ------------------------------------------------> no pictures
//	            within a group that would be very late: leave the rest out
//	            <------------------------------------------------
//	            at the next key frame that comes in time

// catchUpTime is how long a new viewer may be behind.
const catchUpTime = time.Second

// slowDown makes v's line measured from now on.
func (v *Viewer) slowDown() {
	if !v.line.slow {
		v.line.slow = true
		v.line.measure().quota = quotaOf(v.stream.byteRate())
		limitQueue(v.link.raw, v.line.quota)
	}
}

// look measures the line, and reports whether it can take more.
func (v *Viewer) look(now time.Time) bool {
	l := &v.line
	rated := now.Sub(l.at) >= rateTime
	q, known := v.link.socket.size(v.link.raw, rated)
	if rated && q.rate > 0 {
		// Also when nothing is on its way: frames that are late then are so for the loop's
		// sake, and such a line catches up. The cost, not the rate: one sample that is much
		// too fast, as the first ones are, does not count for long. One that says that the line is
		// faster counts for as much of the stream as has passed: a few packets, of sound alone say,
		// pass at once where a line lets bursts through.
		passed := v.figures.bytes.Load() - int64(q.unacked)
		weight := 0.3
		if 1/q.rate < l.cost {
			weight *= min(1, float64(max(passed-l.passed, 0))/max(v.stream.byteRate()*now.Sub(l.at).Seconds(), 1))
		}
		l.cost += weight * (1/q.rate - l.cost)
		l.at, l.passed = now, passed
	}
	kept := v.link.kept()
	q.unacked, q.unsent = q.unacked+kept, q.unsent+kept
	l.delay, l.taken = 0, known && q.unacked == 0
	if !known || q.unacked == 0 {
		return true
	}
	cost := l.cost
	if cost == 0 {
		cost = 1 / max(v.stream.byteRate(), 1)
	}
	l.delay = time.Duration(float64(q.unacked) * cost * float64(time.Second))
	// What is queued now will hardly take less than the oldest of it has.
	l.delay = max(l.delay, v.figures.trail.age(v.figures.bytes.Load()-int64(q.unacked), v.stream.clock()))
	return q.unsent <= l.quota
}

// skip decides whether v is late, and leaves pictures out from now on if so. It
// is called with the stream's lock held.
func (v *Viewer) skip(r *ring) {
	s, c, most := v.stream, &v.cursor, v.limits.Lag
	if !v.line.slow || s.end.over || s.watched.Load() || r.raw || !c.begun || c.moved || c.seq < r.first || c.seq >= r.next {
		return
	}
	if q := quotaOf(r.byteRate(s.clock())); q > v.line.quota*5/4 || q < v.line.quota*3/4 {
		v.line.quota = q
		limitQueue(v.link.raw, q)
	}
	rec := r.at(c.seq)
	if rec.came < v.line.joined && s.clock()-v.line.joined < int64(catchUpTime) {
		return
	}
	late := time.Duration(s.clock()-rec.came) + v.line.delay
	switch {
	case c.seq < c.pictures:
		v.line.left = s.clock()
		if late > most*5/8 {
			c.moved, c.fell = true, true // sound too is late
		}
		return
	case rec.kind&isKey != 0 && late > most/4:
		c.keyFrom = c.seq + 1
	case late > most/3:
		c.keyFrom = c.seq
	default:
		return
	}
	if cost := v.line.cost; cost > 0 && 1/cost > 1.5*r.byteRate(s.clock()) && v.line.delay < most {
		c.keyFrom = 0 // it catches up
		return
	}
	if r.hasKey && r.key > c.seq {
		c.keyFrom = r.key
	}
	c.pictures = never
	v.line.left = s.clock()
	v.figures.jumps.Add(1)
	s.sent.jumps.Add(1)
}

// fellBehind takes note that v has fallen out of the ring. It goes on at the
// newest key frame, at once or when there is one, unless that is too often. Where the peer has
// taken all that there was, it was the loop that came too late.
func (v *Viewer) fellBehind(now time.Time) error {
	v.figures.jumps.Add(1)
	v.stream.sent.jumps.Add(1)
	if !v.link.waits && (!v.line.slow || v.line.taken) {
		return nil
	}
	j := append(v.line.measure().jumps, now)
	for now.Sub(j[0]) > v.limits.JumpTime {
		j = slices.Delete(j, 0, 1)
	}
	v.line.jumps = j
	if len(j) > v.limits.Jumps {
		return ErrSlow
	}
	return nil
}
