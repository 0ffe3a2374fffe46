package live

// finish closes v's connection and reports that. It changes no list of the owner's.
func (v *Viewer) finish(err error, forget func(*Viewer)) {
	v.cursor.drop()
	evicted := err == ErrStalled || err == ErrSlow || err == ErrControl || err == ErrMemory
	switch {
	case err == ErrMoved:
		under(v.link.conn).Close() // and no more: what is set on the socket counts for its new owner
	case err == ErrEnded:
		v.link.hangUp(v.limits.Stall)
	case evicted:
		v.link.reset()
	default:
		v.link.close(v.limits.Stall)
	}
	s := v.stream
	s.sent.viewers.Add(-1)
	if evicted {
		s.sent.evicted.Add(1)
	}
	s.mu.Lock()
	v.arrive()
	s.mu.Unlock()
	s.release()
	forget(v)
	v.err = err
	v.inbox.end()
	if f := v.options.onClose; f != nil {
		go f(v, err)
	}
}
