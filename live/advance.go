package live

import (
	"slices"
	"time"
)

// advance sends v what it lacks of the frames before upto, or of all that there
// are when upto is 0, at most about visit bytes, and sets its state. An error
// is the connection's, or a reason to close v.
func (v *Viewer) advance(upto uint64) error {
	if n, kept, err := v.link.drain(); kept > 0 || err != nil {
		v.block(n)
		return err
	}
	left := visit
	if whole, err := v.flush(&left); !whole {
		return err
	}
	if len(v.control) > 0 {
		v.cursor.rest(v.stream.clock()).add(slices.Clone(v.control))
		v.control = v.control[:0]
		if whole, err := v.flush(&left); !whole {
			return err
		}
	}
	now := time.Now()
	if v.line.slow && !v.look(now) && !v.link.waits {
		v.block(0)
		return nil
	}
	next, then, err := v.prepare(upto, now)
	if err != nil {
		return err
	}
	whole, err := v.flush(&left) // a greeting without frames, or a trailer
	if own := v.cursor.own; whole && own.size == 0 && next > 0 {
		v.reached(next, own.left)
	} else if whole && next > 0 {
		var n int
		n, err = v.transmit(own.parts, left)
		whole = v.sent(own, n, next, left)
	}
	v.cursor.own.reset()
	if whole {
		v.finished(then)
	}
	if v.state == stateSteady && !v.line.slow {
		v.cursor.tail = nil // from now on it is sent what its group is
	}
	return err
}

// finished says that all there was to send has been taken.
func (v *Viewer) finished(then state) {
	v.state = then
	if v.link.kept() > 0 {
		v.block(1)
	}
}

// transmit sends at most so many bytes of parts, and returns how many went out. Over a
// socket it does not wait: fewer without an error means that the socket is full. Other
// connections are waited for.
func (v *Viewer) transmit(parts [][]byte, most int) (int, error) {
	if !v.link.waits {
		return v.link.send(parts, most)
	}
	if most <= 0 {
		return 0, nil
	}
	if err := v.limit(); err != nil {
		return 0, err
	}
	return v.link.write(parts, 0, most)
}

// limit sets the deadline for a write, unless v is to be closed.
func (v *Viewer) limit() error {
	v.inbox.mu.Lock()
	defer v.inbox.mu.Unlock()
	if err := v.inbox.asked.close; err != nil {
		return err
	}
	return v.link.conn.SetWriteDeadline(time.Now().Add(v.limits.Stall))
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
	until, over := v.until(r)
	last := stateSteady
	if over {
		last = stateEnded
	}
	v.skip(r)
	if c.fallen(r) {
		if err := v.fellBehind(now); err != nil {
			return 0, v.state, err
		}
	}
	switch {
	case v.paused, v.leaves > 0 && !c.begun:
	case !v.find(r):
		if !over {
			last = stateWaiting
		}
	default:
		if upto == 0 || upto > until || over || c.own.greeted || c.seq > upto {
			upto = until
		}
		if c.seq < upto {
			limit := visit
			if v.line.slow {
				limit = max(v.line.quota, minQuota)
			}
			c.own.came = s.clock() // of a greeting, if no frame is sent
			next = c.fill(r, upto, limit)
			if next < upto || over {
				return next, stateBehind, nil
			}
			return next, stateSteady, nil
		}
	}
	if c.own.size > 0 {
		c.rest(s.clock()).append(c.own) // headers, before there is a frame
	}
	if last == stateEnded && !(s.end.cut && c.form.chunked()) {
		c.rest(s.clock()).add(v.options.trailer)
		v.options.trailer = nil // once
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

// flush sends what is in tail, no more than left, which becomes less by that, and
// reports whether all of it went out. If not, the state says why.
func (v *Viewer) flush(left *int) (bool, error) {
	tail := v.cursor.tail
	if tail == nil || tail.size == 0 {
		return true, nil
	}
	n, err := v.transmit(tail.parts, *left)
	v.count(n, tail.came)
	if n == tail.size {
		tail.reset()
		*left = max(*left-n, 0)
		return true, err
	}
	tail.cutFront(n)
	v.cutShort(n, *left)
	return false, err
}

// sent takes note that n bytes of b are out, which ends before the frame next,
// and keeps the rest of a message that was begun. It reports whether all of b
// is out; if not, the state says whether that is because most were sent.
func (v *Viewer) sent(b *batch, n int, next uint64, most int) bool {
	v.count(n, b.came)
	if n == b.size {
		v.reached(next, b.left)
		return true
	}
	v.cutShort(n, most)
	switch {
	case n == 0 && !b.greeted:
	case b.whole:
		v.cursor.rest(b.came).rest(b, n, b.size)
		v.reached(next, b.left)
	default:
		// The message that was begun has to be completed, or the viewer's
		// decoder would lose message boundaries. Later messages are looked up
		// again when they are sent: by then they may be too old.
		k, exact := slices.BinarySearch(b.ends, n)
		if !exact {
			came := v.stream.came(v.cursor.seq+uint64(k), b.came)
			v.cursor.rest(came).rest(b, n, b.ends[k])
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
	v.figures.trail.add(v.figures.bytes.Add(int64(n)), came)
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

// cutShort says that n bytes went out, which is less than there was to send: because
// only most were to be sent now, or because the socket is full.
func (v *Viewer) cutShort(n, most int) {
	if n >= most {
		v.state = stateBehind
		return
	}
	v.block(n)
}

// Times after which a viewer whose socket was full is tried again.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 100 * time.Millisecond
)

// block says that the socket is full; it has taken n bytes before.
func (v *Viewer) block(n int) {
	v.state = stateBlocked
	v.slowDown()
	p := &v.pulse
	if n > 0 || p.retry == 0 {
		p.retry = firstRetry
	} else {
		p.retry = min(2*p.retry, lastRetry)
	}
	v.task.due = time.Now().Add(p.retry)
}
