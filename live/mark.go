package live

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/flv"
)

// A Mark identifies a frame on every server that passes it on: the number of the
// frame within one publication, whose epoch is that of PublishOptions. Time is that
// of the frame where it was published. The zero Mark is that of a frame without one.
type Mark struct {
	Epoch  uint64
	Number uint64
	Time   uint32 // ms
}

// markName is the name of the script data that FormHop has before each frame.
const markName = "sluiceMark"

// errMark: script data of that name that is not a mark.
var errMark = errors.New("live: bad mark")

// appendMark appends the tag with a mark, which stands before a frame with the given
// time: the name and a text.
func appendMark(b []byte, m Mark, time uint32) []byte {
	var room [64]byte
	text := fmt.Appendf(room[:0], "%d %d %d", m.Epoch, m.Number, m.Time)
	size := 3 + len(markName) + 3 + len(text)
	b = flv.TagHeader{Type: flv.TagScript, Size: size, Time: time}.Append(b)
	b = append(b, 2, 0, byte(len(markName)))
	b = append(b, markName...)
	b = append(b, 2, 0, byte(len(text)))
	b = append(b, text...)
	n := uint32(flv.TagHeaderLen + size)
	return append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// ParseMark reads the body of a script tag, borrowed. It reports whether it is a
// mark, as FormHop has it before the frame that it is of; an error is that of a mark
// that cannot be read.
func ParseMark(p []byte) (m Mark, ok bool, err error) {
	head := len(markName) + 3
	if len(p) < head+3 || p[0] != 2 || p[1] != 0 || int(p[2]) != len(markName) || string(p[3:head]) != markName {
		return Mark{}, false, nil
	}
	text := p[head+3:]
	if p[head] != 2 || p[head+1] != 0 || int(p[head+2]) != len(text) {
		return Mark{}, true, fmt.Errorf("%w: %d bytes", errMark, len(p))
	}
	if _, err := fmt.Sscanf(string(text), "%d %d %d", &m.Epoch, &m.Number, &m.Time); err != nil || m.Epoch == 0 || m.Number == 0 {
		return Mark{}, true, fmt.Errorf("%w: %.60q", errMark, text)
	}
	return m, true, nil
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

// mark is the mark of record seq.
func (r *ring) mark(seq uint64) Mark {
	if r.marks == nil {
		return Mark{}
	}
	return r.marks[seq&uint64(len(r.marks)-1)]
}

// setMark notes the mark of record seq, which was just pushed.
func (r *ring) setMark(seq uint64, m Mark) {
	if !r.marked {
		return
	}
	if len(r.marks) != len(r.records) {
		n := uint64(len(r.records))
		grown := make([]Mark, n)
		for old := r.first; r.marks != nil && old < seq; old++ {
			grown[old&(n-1)] = r.mark(old)
		}
		r.marks = grown
	}
	r.marks[seq&uint64(len(r.marks)-1)] = m
}

// fillMarked appends one record with its mark, as one chunk.
func (r *ring) fillMarked(b *batch, seq uint64) {
	rec := r.at(seq)
	from, to := r.place(seq), r.place(seq+1)
	var mark []byte
	if m := r.mark(seq); m != (Mark{}) {
		mark = appendMark(make([]byte, 0, 96), m, rec.time)
	}
	b.add(append(appendChunk(nil, int(to-from)+len(mark), false), mark...))
	r.bodies.cut(b, from, to)
}

// Newest returns the mark of the newest frame that has one; the zero Mark when there
// is none.
func (s *Stream) Newest() Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	for seq := s.ring.next; seq > s.ring.first; seq-- {
		if m := s.ring.mark(seq - 1); m != (Mark{}) {
			return m
		}
	}
	return Mark{}
}
