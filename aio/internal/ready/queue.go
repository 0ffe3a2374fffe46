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
		t.next, t.prev = t, t
	} else {
		t.next, t.prev = q.tail.next, q.tail
		t.next.prev, t.prev.next = t, t
	}
	q.tail = t
}

// remove takes t out, which must be there. It takes as long for each, since thousands
// may end early, in any order.
func (q *queue) remove(t *task) {
	if t.next == t {
		q.tail = nil
	} else {
		t.prev.next, t.next.prev = t.next, t.prev
		if q.tail == t {
			q.tail = t.prev
		}
	}
	t.next, t.prev = nil, nil
}
