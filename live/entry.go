package live

import "math"

// An entry is a place at which a viewer begins.
type entry struct {
	seq      uint64
	set      *headers // in force there
	time     uint32   // of what is next
	pictures uint64   // of the first video frame that can be shown
}

// never is the number of no frame.
const never = math.MaxUint64

// join returns where a viewer who comes now begins: with the newest key frame,
// or with audio, and with video from its next key frame on; in a stream of data alone with
// what comes. It reports false when there has not been any frame yet.
func (r *ring) join() (entry, bool) {
	if r.hasKey {
		rec := r.at(r.key)
		return entry{seq: r.key, set: rec.set, time: rec.time}, true
	}
	if !r.hasMedia && !r.hasData {
		return entry{}, false
	}
	if r.hasVideo || !r.hasMedia {
		return r.from(r.next), true
	}
	for seq := r.next; seq > r.first; seq-- {
		if rec := r.at(seq - 1); rec.kind.media() {
			return entry{seq: seq - 1, set: rec.set, time: rec.time}, true
		}
	}
	return r.from(r.next), true
}

// from is the place before frame seq, or the oldest if that is gone. Pictures
// begin with a key frame.
func (r *ring) from(seq uint64) entry {
	e := entry{seq: max(seq, r.first), set: r.set}
	if r.hasVideo || !r.hasMedia { // it may come
		e.pictures = never
	}
	switch {
	case e.seq < r.next:
		rec := r.at(e.seq)
		e.set, e.time = rec.set, rec.time
	case r.next > r.first:
		e.time = r.at(r.next - 1).time
	}
	return e
}

// behind returns the place after the frame with mark m: of the next one, if that is
// in the ring, or the end, if the ring has not come so far.
func (r *ring) behind(m *Mark) (entry, bool) {
	if r.marks == nil || m == nil {
		return entry{}, false
	}
	for seq := r.next; seq > r.first; seq-- {
		switch k := r.mark(seq - 1); {
		case k.Epoch != m.Epoch:
		case k.Number <= m.Number:
			e := r.from(seq)
			e.pictures = 0
			return e, true
		case k.Number == m.Number+1:
			e := r.from(seq - 1)
			e.pictures = 0
			return e, true
		}
	}
	return entry{}, false
}
