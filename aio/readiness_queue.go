//go:build unix && !aix && !solaris && !illumos

package aio

// opQueue is a list of operations in the order of submission. It is a ring that
// knows its last element: one word for each direction of each connection.
type opQueue struct{ tail *op }

// head returns the operation that is first in turn, or nil.
func (q *opQueue) head() *op {
	if q.tail == nil {
		return nil
	}
	return q.tail.next
}

// after returns the operation behind o, or nil.
func (q *opQueue) after(o *op) *op {
	if o == q.tail {
		return nil
	}
	return o.next
}

func (q *opQueue) push(o *op) {
	if q.tail == nil {
		o.next = o
	} else {
		o.next, q.tail.next = q.tail.next, o
	}
	q.tail = o
}

// remove takes o out, which must be there.
func (q *opQueue) remove(o *op) {
	before := q.tail
	for before.next != o {
		before = before.next
	}
	if before == o {
		q.tail = nil
	} else {
		before.next = o.next
		if q.tail == o {
			q.tail = before
		}
	}
	o.next = nil
}

func (q *opQueue) has(o *op) bool {
	for at := q.head(); at != nil; at = q.after(at) {
		if at == o {
			return true
		}
	}
	return false
}
