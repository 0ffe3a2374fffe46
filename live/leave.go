package live

// EndAtKey ends v before the next key frame that comes, with its trailer and ErrEnded, so
// that a viewer who goes on elsewhere misses no picture and gets none twice. It ends at once
// while it has got nothing, and in a stream without video.
func (v *Viewer) EndAtKey() {
	s := v.stream
	s.mu.Lock()
	next := s.ring.next
	s.mu.Unlock()
	_ = v.ask(func(r *request) error { // it may have ended
		r.leaves = max(next, 1)
		return nil
	})
}

// until returns the number behind the last frame that v is sent of those that there are,
// and whether v ends there. It is called with the stream's lock held.
func (v *Viewer) until(r *ring) (seq uint64, over bool) {
	switch over = v.stream.end.over; {
	case v.leaves == 0:
		return r.next, over
	case !v.cursor.begun || !r.hasVideo:
		return v.cursor.seq, true
	}
	for seq = max(v.leaves, v.cursor.seq, r.first); seq < r.next; seq++ {
		if r.at(seq).kind&isKey != 0 {
			return seq, true
		}
	}
	return r.next, over
}
