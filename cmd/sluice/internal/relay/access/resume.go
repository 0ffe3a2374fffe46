package access

// Resume counts a session that another process has admitted and handed over, also above the
// limits, until release is called.
func (g *Gate) Resume(r Request) (release func()) {
	from := host(plain(r.Address.Addr()))
	l := &g.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	stream := r.Stream
	if r.Action == Publish {
		l.countStream(stream, from)
		return once(func() { l.dropStream(stream, from) })
	}
	l.countViewer(stream, from)
	return once(func() { l.dropViewer(stream, from) })
}
