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

// numbers gives the frames of a publication their marks.
type numbers struct{ epoch, last uint64 }

func (n *numbers) next(at uint32) Mark {
	if n.epoch == 0 {
		return Mark{}
	}
	n.last++
	return Mark{n.epoch, n.last, at}
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
