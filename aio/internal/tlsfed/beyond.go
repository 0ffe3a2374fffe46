package tlsfed

import (
	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/mem"
)

// budget is what mem offers to readers: the limit of an allocator, 0 for none.
var budget = hooks.Budget.(func(a *mem.Allocator) (limit int64, pressed bool))

// noteIdle is too: what is held by bytes that wait does not come back by itself.
var noteIdle = hooks.Idle.(func(a *mem.Allocator, held int))

// Take returns room for at least n bytes that have come and cannot be sent back: beyond the budget
// when that has nothing left, which over says. Then its caller reads no more until there is memory.
// The error is mem.ErrBudget, when least, of one record, is more than the whole budget.
func Take(a *mem.Allocator, n, least int) (room mem.Buf, over bool, err error) {
	s, err := a.TrySlab(n)
	if err != nil {
		if limit, _ := budget(a); int64(least) > limit {
			return mem.Buf{}, false, err
		}
		s, over = a.Slab(n), true
	}
	room = s.Cut(0, len(s.Bytes())) // so that its length is what it is charged for
	s.Release()
	return room, over, nil //sluice:moved
}
