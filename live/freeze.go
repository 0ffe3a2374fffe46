package live

// Freeze makes the loops stand still between two messages, until thaw is called, once:
// nothing is sent meanwhile to viewers that the loops send to, which may then be looked at
// by Viewer.State and given away by Leave, and added by Adopt. Viewers over TLS are sent on.
func (w *Writer) Freeze() (thaw func()) {
	f := make([]*frozen, len(w.loops))
	end := make(chan struct{})
	for i, l := range w.loops {
		f[i] = &frozen{make(chan struct{}), end}
		l.mail.post(func(m *mail) { m.frozen = f[i] })
	}
	for i, l := range w.loops {
		select {
		case <-f[i].reached:
		case <-l.ended:
		}
	}
	return func() { close(end) }
}

// Leave ends v, which a Freeze has made stand still, with ErrMoved: its connection is
// another process's, which has a descriptor of it. This one's is closed, and nothing is said
// to the peer.
func (w *Writer) Leave(v *Viewer) {
	if l, ok := v.owner.(*loop); ok {
		l.close(v, ErrMoved)
	}
}
