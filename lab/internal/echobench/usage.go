package echobench

import (
	"fmt"
	"strconv"
	"time"
)

// Usage is what a server's process has used since it began, at a moment. The
// processor's time is taken twice, before and after the rest: what ends here
// uses Until, what begins here From.
type Usage struct {
	Until, From time.Duration // user and system
	Mallocs     uint64
	Bytes       uint64 // allocated
	GCs         uint32 // collections that the runtime started by itself
}

// append writes u in the form that ParseUsage reads. It does not allocate if
// line has room.
func (u Usage) append(line []byte) []byte {
	for i, n := range [...]uint64{uint64(u.Until), uint64(u.From), u.Mallocs, u.Bytes, uint64(u.GCs)} {
		if i > 0 {
			line = append(line, ' ')
		}
		line = strconv.AppendUint(line, n, 10)
	}
	return line
}

// ParseUsage reads what a server answers to "usage".
func ParseUsage(line string) (u Usage, err error) {
	if _, err := fmt.Sscan(line, &u.Until, &u.From, &u.Mallocs, &u.Bytes, &u.GCs); err != nil {
		return Usage{}, fmt.Errorf("echo: %.60q is no usage: %w", line, err)
	}
	return u, nil
}

// Spent is what was used between two moments.
type Spent struct {
	CPU     time.Duration
	Mallocs uint64
	Bytes   uint64
	GCs     uint32
}

// To is what was used from u to a later moment.
func (u Usage) To(later Usage) Spent {
	return Spent{later.Until - u.From, later.Mallocs - u.Mallocs, later.Bytes - u.Bytes, later.GCs - u.GCs}
}

// And is what was spent in two parts together.
func (s Spent) And(next Spent) Spent {
	return Spent{s.CPU + next.CPU, s.Mallocs + next.Mallocs, s.Bytes + next.Bytes, s.GCs + next.GCs}
}
