package live

import "time"

// A task is what a loop does at a time: serve a group, or try a viewer again.
type task struct {
	due    time.Time
	group  *group
	viewer *Viewer
	place  int // in the agenda, counted from 1; 0: it is not in it
}

// An agenda is a loop's tasks, the next one first: a heap, so that a loop that wakes
// looks at nothing that is not due.
type agenda []*task

// next returns when the first task is due, or later if that is after it.
func (a agenda) next(later time.Time) time.Time {
	if len(a) > 0 && a[0].due.Before(later) {
		return a[0].due
	}
	return later
}

// pop takes the first task out if it is due.
func (a *agenda) pop(now time.Time) *task {
	if len(*a) == 0 || now.Before((*a)[0].due) {
		return nil
	}
	t := (*a)[0]
	a.remove(t)
	return t
}

// set puts t into its place, whether it is in the agenda already or not.
func (a *agenda) set(t *task) {
	if t.place == 0 {
		*a = append(*a, t)
		t.place = len(*a)
	}
	a.down(a.up(t.place))
}

// remove takes t out, if it is in the agenda.
func (a *agenda) remove(t *task) {
	k, n := t.place, len(*a)
	if k == 0 {
		return
	}
	a.swap(k, n)
	(*a)[n-1] = nil
	*a = (*a)[:n-1]
	t.place = 0
	if k < n {
		a.down(a.up(k))
	}
}

func (a agenda) swap(i, j int) {
	a[i-1], a[j-1] = a[j-1], a[i-1]
	a[i-1].place, a[j-1].place = i, j
}

func (a agenda) before(i, j int) bool { return a[i-1].due.Before(a[j-1].due) }

func (a agenda) up(k int) int {
	for k > 1 && a.before(k, k/2) {
		a.swap(k, k/2)
		k /= 2
	}
	return k
}

func (a agenda) down(k int) {
	for 2*k <= len(a) {
		child := 2 * k
		if child < len(a) && a.before(child+1, child) {
			child++
		}
		if !a.before(child, k) {
			return
		}
		a.swap(k, child)
		k = child
	}
}
