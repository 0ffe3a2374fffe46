package live

// A cursor is a place in a stream's ring, in one form, and how to go on from
// there.
type cursor struct {
	form      Form
	fromStart bool
	noGOP     bool
	after     uint64 // with noGOP, and in a stream of data alone: the first frame to begin with
	behind    *Mark  // begin after the frame with this mark, if that is known

	seq      uint64 // of the frame that is next
	begun    bool   // seq counts, and the greeting has been given
	moved    bool   // goes on at the newest key frame
	fell     bool   // because it was out of the ring
	pictures uint64 // video frames before this one are left out; never: until the next key frame
	keyFrom  uint64 // then: key frames before this one are left out, too
	tail     *batch // the rest of a message that was begun; nil: there is none
	own      *batch // the owner's, for a greeting, if it is time for one, and frames
}

func newCursor(f Form, r *ring, fromStart bool, own *batch) cursor {
	return cursor{form: f, fromStart: fromStart, after: r.next, own: own}
}

// rest is tail, to be added to. What is added had come at the given time on the
// stream's clock, which counts unless something older waits there.
func (c *cursor) rest(came int64) *batch {
	if c.tail == nil {
		c.tail = new(batch)
	}
	if c.tail.size == 0 {
		c.tail.came = came
	}
	return c.tail
}

// fallen reports whether the ring has gone on without c, once.
func (c *cursor) fallen(r *ring) bool {
	if !c.begun || c.moved || c.seq >= r.first {
		return false
	}
	c.moved, c.fell = true, true
	return true
}

// find puts c where it begins, or goes on after it was moved, and the greeting
// for that into own. It returns how many frames c was not given because it
// fell, and whether there is a place to begin at. What is to be sent before
// everything else does not wait for that.
func (c *cursor) find(r *ring) (dropped int64, ok bool) {
	if c.begun && !c.moved {
		return 0, true
	}
	p, ok := r.join()
	if c.begun && !c.fell && c.form == FormRaw && (!ok || p.seq < c.seq) {
		c.moved = false // packets have numbers, which do not go back
		return 0, true
	}
	if !c.begun {
		next, known := r.behind(c.behind)
		switch {
		case known:
			p, ok = next, true
		case c.fromStart && r.first == 0 && r.next > 0:
			p, ok = entry{set: new(headers)}, true // they are among the frames
		case ok && (c.noGOP || !r.hasMedia):
			p = r.from(c.after)
		}
	}
	if c.fell && p.seq < c.seq {
		p = r.from(r.next) // it has had the newest key frame
	}
	if !ok {
		return 0, false
	}
	// One that was late is not sent again what it has: on a narrow line that
	// would make it later.
	if !c.fell || c.seq < r.first || r.setAt(c.seq) != p.set {
		c.own.greeted = true
		c.own.greet(c.form, r.set, p.set, p.time, !c.begun)
	}
	if c.fell {
		dropped = int64(p.seq - c.seq)
	}
	c.seq, c.pictures, c.keyFrom = p.seq, p.pictures, 0
	c.begun, c.moved, c.fell = true, false, false
	return dropped, true
}

// fill puts frames from c on up to upto into own, about limit bytes, and returns
// the number behind them.
func (c *cursor) fill(r *ring, upto uint64, limit int) uint64 {
	seq := c.seq
	if !r.hasVideo { // nor pictures to leave out
		return r.fill(c.own, c.form, seq, upto, limit)
	}
	for seq < c.pictures && seq < upto && c.own.size < limit {
		switch k := r.at(seq).kind; {
		case k&isKey != 0 && seq >= c.keyFrom:
			c.pictures = seq
		case k.picture():
			c.own.leaveOut()
			seq++
		default:
			seq = r.fill(c.own, c.form, seq, seq+1, limit)
		}
	}
	if seq < c.pictures || seq == upto {
		return seq
	}
	return r.fill(c.own, c.form, seq, upto, limit)
}

// whole reports whether c leaves nothing out of what comes next.
func (c *cursor) whole() bool { return c.begun && !c.moved && c.pictures <= c.seq }

func (c *cursor) drop() {
	if c.tail != nil {
		c.tail.reset()
	}
	c.own.reset()
}
