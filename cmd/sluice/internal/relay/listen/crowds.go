package listen

import "math/rand/v2"

// crowds are the hosts by how many of their connections wait, so that one with the most is found without
// a look at all: where each newcomer is one too many, that would be the work of thousands of hosts for each.
type crowds [][]*arriving

// sets makes list the connections of h that wait. The lock is held.
func (a *Arrivals) sets(h *arriving, list []*Arrival) {
	a.waiting += len(list) - len(h.waiting)
	a.crowds.leave(h)
	h.waiting = list
	a.crowds.join(h)
}

func (c *crowds) leave(h *arriving) {
	n := len(h.waiting)
	if n == 0 {
		return
	}
	same := (*c)[n-1]
	last := same[len(same)-1]
	same[h.at], last.at = last, h.at
	same[len(same)-1] = nil
	(*c)[n-1] = same[:len(same)-1]
}

func (c *crowds) join(h *arriving) {
	n := len(h.waiting)
	for len(*c) < n {
		*c = append(*c, nil)
	}
	if n > 0 {
		h.at = len((*c)[n-1])
		(*c)[n-1] = append((*c)[n-1], h)
	}
	for len(*c) > 0 && len((*c)[len(*c)-1]) == 0 {
		*c = (*c)[:len(*c)-1]
	}
}

// largest is one of the hosts of which most connections wait; some do.
func (c crowds) largest() *arriving {
	same := c[len(c)-1]
	return same[rand.N(len(same))]
}
