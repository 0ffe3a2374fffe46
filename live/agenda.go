package live

import "time"

// A task is the time at which a loop does something: serve a group, or try a viewer
// again.
type task struct {
	due   time.Time
	place int // in the agenda, counted from 1; 0: it is not in it
}

// scheduled is what has a task.
type scheduled interface{ at() *task }

// An agenda is a loop's tasks, the next one first: a heap, so that a loop that wakes
// looks at nothing that is not due.
type agenda []scheduled

// next returns when the first task is due, or later if that is after it.
func (a agenda) next(later time.Time) time.Time {
	if len(a) > 0 && a[0].at().due.Before(later) {
		return a[0].at().due
	}
	return later
}

// pop takes the first task out if it is due.
func (a *agenda) pop(now time.Time) scheduled {
	if len(*a) == 0 || now.Before((*a)[0].at().due) {
		return nil
	}
	t := (*a)[0]
	a.remove(t)
	return t
}

// set puts x into its place, whether it is in the agenda already or not.
func (a *agenda) set(x scheduled) {
	t := x.at()
	if t.place == 0 {
		*a = append(*a, x)
		t.place = len(*a)
	}
	a.down(a.up(t.place))
}

// remove takes x out, if it is in the agenda.
func (a *agenda) remove(x scheduled) {
	t := x.at()
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
	a[i-1].at().place, a[j-1].at().place = i, j
}

func (a agenda) before(i, j int) bool { return a[i-1].at().due.Before(a[j-1].at().due) }

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
