package echobench

import "time"

// Usage is what a server's process has used since it began, at a moment. The
// processor's time is taken twice, before and after the rest: what ends here
// uses Until, what begins here From.
type Usage struct {
	Until, From time.Duration // user and system
	Mallocs     uint64
	Bytes       uint64 // allocated
	GCs         uint32 // collections that the runtime started by itself
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
