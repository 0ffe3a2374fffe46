package live

// A cursor is a place in a stream's ring, in one form, and how to go on from
// there.
type cursor struct {
	form      Form
	fromStart bool
	noGOP     bool
	prelude   []byte // before everything else

	seq   uint64 // of the frame that is next
	after uint64 // with noGOP: the first frame to begin at
	begun bool   // seq counts, and the greeting has been given
	moved bool   // goes on at the newest key frame
	fell  bool   // because it was out of the ring
	tail  batch  // the rest of a message that was begun
	own   batch  // a greeting, if it is time for one, and frames
}

func newCursor(s *Stream, o ViewerOptions) cursor {
	return cursor{
		form: o.Form, fromStart: o.FromStart, noGOP: o.NoGOP,
		prelude: append([]byte(nil), o.Prelude...), after: s.ring.next,
	}
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
// fell, and whether there is a place to begin at.
func (c *cursor) find(r *ring) (dropped int64, ok bool) {
	if c.begun && !c.moved {
		return 0, true
	}
	seq, ok := r.join()
	var set *headers
	if !c.begun {
		switch {
		case c.fromStart && r.first == 0 && r.next > 0:
			seq, ok, set = 0, true, new(headers) // they are among the frames
		case c.noGOP:
			ok = ok && seq >= c.after
		}
	}
	if !ok {
		return 0, false
	}
	rec := r.at(seq)
	if set == nil {
		set = rec.set
	}
	if !c.begun {
		c.own.add(c.prelude)
		c.prelude = nil
	}
	c.own.greeted = true
	c.own.greet(c.form, r, set, rec.time, !c.begun)
	if c.fell {
		dropped = int64(seq - c.seq)
	}
	c.seq = seq
	c.begun, c.moved, c.fell = true, false, false
	return dropped, true
}

// fill puts frames from c on up to upto into own, about limit bytes, and returns
// the number behind them.
func (c *cursor) fill(r *ring, upto uint64, limit int) uint64 {
	return r.fill(&c.own, c.form, c.seq, upto, limit)
}

func (c *cursor) drop() {
	c.tail.reset()
	c.own.reset()
}
