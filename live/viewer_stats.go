package live

import "time"

// ViewerStats are a viewer's figures.
type ViewerStats struct {
	Bytes   int64         // on the wire, without what TLS adds
	Frames  int64         // tags that it was sent
	Dropped int64         // tags that it was not, because it was slow or has to wait for a key frame
	Jumps   int64         // how often it was moved on to a key frame
	Lag     time.Duration // since the oldest frame came that the peer has not acknowledged
	Queued  int           // bytes that wait for it, in the kernel and behind TLS, or as Unacked of its connection says; 0 where that is not known
	Merge   time.Duration
}

// Stats returns v's figures.
func (v *Viewer) Stats() ViewerStats {
	f := &v.figures
	queued := v.link.unacked()
	return ViewerStats{
		Bytes: f.bytes.Load(), Frames: f.frames.Load(), Dropped: f.dropped.Load(), Jumps: f.jumps.Load(),
		Lag: v.lag(int64(queued)), Queued: queued, Merge: v.options.merge,
	}
}

// lag is the age of the oldest frame that the peer does not have, of whose
// bytes the kernel has queued.
func (v *Viewer) lag(queued int64) time.Duration {
	if !v.figures.joined.Load() {
		return 0
	}
	s := v.stream
	if queued > 0 {
		if age := v.figures.trail.age(v.figures.bytes.Load()-queued, s.clock()); age > 0 {
			return age
		}
	}
	seq := v.figures.seq.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.ring
	if seq >= r.next {
		return 0
	}
	return time.Duration(s.clock() - r.at(max(seq, r.first)).came)
}
