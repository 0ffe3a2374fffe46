package live

// A frozen is a request to a loop to stop, and its answer.
type frozen struct {
	reached chan struct{} // closed when the loop stands still
	thaw    chan struct{} // closed to make it go on
}

// Freeze makes the loops stand still between two messages, until thaw is called, once:
// nothing is sent meanwhile to viewers that the loops send to, which may then be looked at
// by Viewer.State and given away by Leave, and added by Adopt. Viewers over TLS are sent on.
func (w *Writer) Freeze() (thaw func()) {
	f := make([]*frozen, len(w.loops))
	end := make(chan struct{})
	for i, l := range w.loops {
		f[i] = &frozen{make(chan struct{}), end}
		l.post(func(m *mail) { m.frozen = f[i] })
	}
	for i, l := range w.loops {
		select {
		case <-f[i].reached:
		case <-l.ended:
		}
	}
	return func() { close(end) }
}

// stand stands still.
func (f *frozen) stand() {
	close(f.reached)
	<-f.thaw
}

// Leave ends v, which a Freeze has made stand still, with ErrMoved: its connection is
// another process's, which has a descriptor of it. This one's is closed, and nothing is said
// to the peer.
func (w *Writer) Leave(v *Viewer) {
	if l, ok := v.owner.(*loop); ok {
		l.close(v, ErrMoved)
	}
}

// Hurry makes a publisher that waits for viewers, because it is faster than real time, go
// on at once, and not wait as long as on is true.
func (s *Stream) Hurry(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hurry = on
	s.caughtUp()
}
