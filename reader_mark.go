package sluice

// Mark remembers the reader's current position. From then on the reader keeps
// all bytes that follow, until Rollback or Unmark. A call that has to receive bytes,
// and would make them more than Options.Frame, returns ErrTooLong. A parser whose message may not
// be complete sets a mark, reads, and goes back when a call returns ErrShort or
// a deadline passed. A second Mark moves it.
func (b *BufReader) Mark() { b.win.Mark() }

// Rollback goes back to the mark, which it clears: what was read since is read
// again. Without a mark it panics.
func (b *BufReader) Rollback() {
	if !b.win.Marked() {
		panic("sluice: BufReader.Rollback without Mark")
	}
	b.win.Back(0)
	b.win.Unmark()
}

// marked says why n bytes from the window's start on, not all of which have come, would be
// too many behind the mark.
func (b *BufReader) marked(n int) error {
	if !b.win.Marked() || b.inHeader || n <= b.win.Len() {
		return nil // a header has a limit of its own
	}
	span := b.win.Before() + n
	if limit := b.limits().frame; span > limit {
		return &Error{op: "Mark", limit: int64(limit), got: int64(span), Err: ErrTooLong}
	}
	return nil
}

// Unmark clears the mark, if there is one: what was read stays read.
func (b *BufReader) Unmark() { b.win.Unmark() }
