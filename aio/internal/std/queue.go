package std

func (q *queue) pushBack(o *operation) {
	o.phase = queued
	o.prev, o.next = q.tail, nil
	if q.tail != nil {
		q.tail.next = o
	} else {
		q.head = o
	}
	q.tail = o
}

func (q *queue) pushFront(o *operation) {
	o.phase = queued
	o.prev, o.next = nil, q.head
	if q.head != nil {
		q.head.prev = o
	} else {
		q.tail = o
	}
	q.head = o
}

func (q *queue) remove(o *operation) {
	if o.prev != nil {
		o.prev.next = o.next
	} else {
		q.head = o.next
	}
	if o.next != nil {
		o.next.prev = o.prev
	} else {
		q.tail = o.prev
	}
	o.prev, o.next = nil, nil
}
