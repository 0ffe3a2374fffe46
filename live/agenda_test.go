package live

import (
	"math/rand/v2"
	"testing"
	"time"
)

type errand struct {
	task task
	on   bool // as the model has it
}

func (e *errand) at() *task { return &e.task }

// A random history of an agenda against a list that is searched.
func TestAgendaAgainstAModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	start := time.Unix(1e9, 0)
	var a agenda
	all := make([]errand, 50)
	for step := range 20_000 {
		e := &all[r.IntN(len(all))]
		switch r.IntN(4) {
		case 0, 1:
			e.task.due, e.on = start.Add(time.Duration(r.IntN(1000))), true
			a.set(e)
		case 2:
			e.on = false
			a.remove(e)
		default:
			now := start.Add(time.Duration(r.IntN(1000)))
			var first *errand
			for i := range all {
				if o := &all[i]; o.on && (first == nil || o.task.due.Before(first.task.due)) {
					first = o
				}
			}
			if want := first != nil && !now.Before(first.task.due); want != !now.Before(a.next(now.Add(1))) {
				t.Fatalf("seed %d, step %d: the next is at %v of %v", seed, step, a.next(now.Add(1)), now)
			}
			x := a.pop(now)
			if x == nil {
				if first != nil && !now.Before(first.task.due) {
					t.Fatalf("seed %d, step %d: nothing is due, but there is one", seed, step)
				}
				break
			}
			got := x.(*errand)
			if !got.on || !got.task.due.Equal(first.task.due) || now.Before(got.task.due) {
				t.Fatalf("seed %d, step %d: got one of %v (%v), the first is at %v", seed, step, got.task.due, got.on, first.task.due)
			}
			got.on = false
		}
		n := 0
		for i := range all {
			if all[i].on != (all[i].task.place > 0) {
				t.Fatalf("seed %d, step %d: one is in the agenda: %v", seed, step, !all[i].on)
			}
			if all[i].on {
				n++
			}
		}
		if n != len(a) {
			t.Fatalf("seed %d, step %d: %d tasks, want %d", seed, step, len(a), n)
		}
	}
}
