//go:build unix && !aix && !solaris && !illumos

package ready

// queue is a list of operations in the order of submission. It is a ring that
// knows its last element: one word for each direction of each connection.
type queue struct{ tail *task }

// head returns the operation that is first, or nil.
func (q *queue) head() *task {
	if q.tail == nil {
		return nil
	}
	return q.tail.next
}

// after returns the operation behind t, or nil.
func (q *queue) after(t *task) *task {
	if t == q.tail {
		return nil
	}
	return t.next
}

func (q *queue) push(t *task) {
	if q.tail == nil {
		t.next = t
	} else {
		t.next, q.tail.next = q.tail.next, t
	}
	q.tail = t
}

// remove takes t out, which must be there.
func (q *queue) remove(t *task) {
	before := q.tail
	for before.next != t {
		before = before.next
	}
	if before == t {
		q.tail = nil
	} else {
		before.next = t.next
		if q.tail == t {
			q.tail = before
		}
	}
	t.next = nil
}

func (q *queue) has(t *task) bool {
	for at := q.head(); at != nil; at = q.after(at) {
		if at == t {
			return true
		}
	}
	return false
}
