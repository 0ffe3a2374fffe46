package sluice

// Mark remembers the place that the reader is at. From then on nothing that
// follows is let go, up to Limits.Frame bytes, until Rollback or Unmark. A
// parser whose message may not be complete sets a mark, reads, and goes back
// when a call returns ErrShort or a deadline passed. A second Mark moves it.
func (b *BufReader) Mark() {
	b.mark = b.r
	// UnreadByte must not go back behind it: what is there may be gone.
	b.fixed = b.r
}

// Rollback goes back to the mark, which it clears: what was read since is read
// again. Without a mark it panics.
func (b *BufReader) Rollback() {
	if b.mark < 0 {
		panic("sluice: BufReader.Rollback without Mark")
	}
	b.r = b.mark
	b.fixed = b.r
	b.mark = -1
}

// Unmark clears the mark, if there is one: what was read stays read.
func (b *BufReader) Unmark() { b.mark = -1 }
