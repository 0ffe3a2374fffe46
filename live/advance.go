package live

import (
	"slices"
	"time"
)

// visit is about how many bytes a viewer is sent before the loop goes on to the
// next one.
const visit = 128 << 10

// advance sends v what it lacks of the frames before upto, or of all that there
// are when upto is 0, at most about visit bytes, and sets its state. An error
// is the connection's, or a reason to close v.
func (v *Viewer) advance(upto uint64) error {
	if whole, err := v.flush(); !whole {
		return err
	}
	if len(v.control) > 0 {
		v.cursor.tail.add(slices.Clone(v.control))
		v.control = v.control[:0]
		if whole, err := v.flush(); !whole {
			return err
		}
	}
	now := time.Now()
	if v.line.slow && !v.look(now) && !v.alone {
		v.block(0)
		return nil
	}
	next, then, err := v.prepare(upto, now)
	if err != nil {
		return err
	}
	whole, err := v.flush() // a greeting without frames, or a trailer
	if whole && v.cursor.own.size == 0 && next > 0 {
		v.reached(next, v.cursor.own.left)
	} else if whole && next > 0 {
		var n int
		n, err = v.transmit(v.cursor.own.parts, v.cursor.own.size)
		whole = v.sent(&v.cursor.own, n, next)
	}
	v.cursor.own.reset()
	if whole {
		v.state = then
	}
	if v.state == steady && !v.line.slow {
		// From now on it is sent what its group is; what the lists have
		// grown to is of no more use.
		v.cursor.own = batch{}
	}
	return err
}

// prepare puts a greeting and frames into the cursor's own batch, or a trailer
// into its tail. It returns the number behind those frames, and the state that v is
// in when all of it is out.
func (v *Viewer) prepare(upto uint64, now time.Time) (next uint64, then state, err error) {
	s, c := v.stream, &v.cursor
	s.mu.Lock()
	defer s.mu.Unlock()
	v.arrive()
	r := &s.ring
	last := steady
	if s.over {
		last = ended
	}
	v.skip(r, now)
	if c.fallen(r) {
		if err := v.fellBehind(); err != nil {
			return 0, v.state, err
		}
	}
	switch {
	case v.paused:
	case !v.find(r):
		if !s.over {
			last = waiting
		}
	default:
		if upto == 0 || upto > r.next || s.over || c.own.greeted {
			upto = r.next
		}
		if c.seq < upto {
			limit := visit
			if v.line.slow {
				limit = max(v.line.quota, minQuota)
			}
			next = c.fill(r, upto, limit)
			if next < upto || s.over {
				return next, behind, nil
			}
			return next, steady, nil
		}
	}
	if c.own.size > 0 {
		c.tail.append(&c.own) // headers, before there is a frame
	}
	if last == ended && !(s.cut && c.form == FormChunked) {
		c.tail.add(v.trailer)
	}
	return 0, last, nil
}

// arrive is called with the stream's lock held.
func (v *Viewer) arrive() {
	if !v.arrived {
		v.arrived = true
		v.stream.arriving--
	}
}

// find is the cursor's, with figures.
func (v *Viewer) find(r *ring) bool {
	dropped, ok := v.cursor.find(r)
	if dropped > 0 {
		v.figures.dropped.Add(dropped)
		v.stream.sent.dropped.Add(dropped)
	}
	if ok {
		v.figures.seq.Store(v.cursor.seq)
		v.figures.joined.Store(true)
	}
	return ok
}

// fellBehind takes note that v has fallen out of the ring. It goes on at the
// newest key frame, at once or when there is one, unless that is too often.
func (v *Viewer) fellBehind() error {
	now := time.Now()
	v.jumps = append(v.jumps, now)
	for now.Sub(v.jumps[0]) > v.writer.options.JumpTime {
		v.jumps = slices.Delete(v.jumps, 0, 1)
	}
	v.figures.jumps.Add(1)
	v.stream.sent.jumps.Add(1)
	if len(v.jumps) > v.writer.options.Jumps {
		return ErrSlow
	}
	return nil
}

// flush sends what is in tail, and reports whether all of it went out. The
// state is blocked if not.
func (v *Viewer) flush() (bool, error) {
	if v.cursor.tail.size == 0 {
		return true, nil
	}
	n, err := v.transmit(v.cursor.tail.parts, v.cursor.tail.size)
	v.count(n, v.cursor.tail.came)
	if n == v.cursor.tail.size {
		v.cursor.tail.reset()
		return true, err
	}
	v.cursor.tail.cutFront(n)
	v.block(n)
	return false, err
}

// sent takes note that n bytes of b are out, which ends before the frame next,
// and keeps the rest of a message that was begun. It reports whether all of b
// is out; if not, the state is blocked.
func (v *Viewer) sent(b *batch, n int, next uint64) bool {
	v.count(n, b.came)
	if n == b.size {
		v.reached(next, b.left)
		return true
	}
	v.block(n)
	switch {
	case n == 0 && !b.greeted:
	case b.whole:
		v.cursor.tail.rest(b, n, b.size)
		v.cursor.tail.came = b.came
		v.reached(next, b.left)
	default:
		// The message that was begun has to be completed, or the viewer's
		// decoder would lose message boundaries. Later messages are looked up
		// again when they are sent: by then they may be too old.
		k, exact := slices.BinarySearch(b.ends, n)
		if !exact {
			v.cursor.tail.rest(b, n, b.ends[k])
			v.cursor.tail.came = v.stream.came(v.cursor.seq+uint64(k), b.came)
		}
		v.reached(v.cursor.seq+uint64(k)+1, b.leftOf(k+1))
	}
	return false
}

// count takes note that n bytes of frames are out, which had come at the given
// time or later.
func (v *Viewer) count(n int, came int64) {
	if n == 0 {
		return
	}
	v.trail.add(v.figures.bytes.Add(int64(n)), came)
	v.stream.sent.bytes.Add(int64(n))
}

// reached takes note that all frames before seq are out, or left out.
func (v *Viewer) reached(seq uint64, left int) {
	d := int64(seq-v.cursor.seq) - int64(left)
	if left > 0 {
		v.figures.dropped.Add(int64(left))
		v.stream.sent.dropped.Add(int64(left))
	}
	v.figures.frames.Add(d)
	v.stream.sent.frames.Add(d)
	v.cursor.seq = seq
	v.figures.seq.Store(seq)
}

// Times after which a viewer whose socket was full is tried again.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 100 * time.Millisecond
)

// block says that the socket is full; it has taken n bytes before.
func (v *Viewer) block(n int) {
	v.state = blocked
	v.slowDown()
	if n > 0 || v.retry == 0 {
		v.retry = firstRetry
	} else {
		v.retry = min(2*v.retry, lastRetry)
	}
	v.retryAt = time.Now().Add(v.retry)
}
