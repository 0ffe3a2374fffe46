package tlsfed

import (
	"container/list"
	"net"
	"net/netip"
)

// waiting is the sessions that wait for a place. Their hosts have one after the other, so that
// a host from which hundreds come delays only itself. By turns it is the host that came last,
// and within a host the session that did: peers that say no more take a second each, and who
// comes behind many of them would not have a place before its own time is over.
type waiting struct {
	sessions map[*Session]place
	hosts    map[netip.Prefix]*host
	turns    list.List // of *host, in the order in which they have a place
	fresh    list.List // of *host: those that have had none since they began to wait
	last     bool      // the next place is for the host that came last
}

// host is the sessions of one host that wait: at least one.
type host struct {
	name     netip.Prefix
	sessions list.List // of *Session, in the order of coming
	turn     *list.Element
	fresh    *list.Element // nil when it has had a place
	last     bool          // its next place is for the session that came last
}

// place is where a session waits.
type place struct {
	host *host
	at   *list.Element
}

func (w *waiting) add(s *Session, name netip.Prefix) {
	if w.sessions == nil {
		w.sessions, w.hosts = make(map[*Session]place), make(map[netip.Prefix]*host)
	}
	h := w.hosts[name]
	if h == nil {
		h = &host{name: name}
		w.hosts[name] = h
		h.turn, h.fresh = w.turns.PushBack(h), w.fresh.PushBack(h)
	}
	w.sessions[s] = place{h, h.sessions.PushBack(s)}
}

// remove takes out s, if it waits.
func (w *waiting) remove(s *Session) {
	p, ok := w.sessions[s]
	if !ok {
		return
	}
	h := p.host
	delete(w.sessions, s)
	h.sessions.Remove(p.at)
	if h.sessions.Len() == 0 {
		w.turns.Remove(h.turn)
		w.served(h)
		delete(w.hosts, h.name)
	}
}

// served notes that h is not fresh any more.
func (w *waiting) served(h *host) {
	if h.fresh != nil {
		w.fresh.Remove(h.fresh)
		h.fresh = nil
	}
}

// next takes out the session whose turn it is, or is nil.
func (w *waiting) next() *Session {
	if len(w.sessions) == 0 {
		return nil
	}
	h := w.turns.Front().Value.(*host)
	if w.last && w.fresh.Len() > 0 {
		h = w.fresh.Back().Value.(*host)
	}
	w.last = !w.last
	at := h.sessions.Front()
	if h.last {
		at = h.sessions.Back()
	}
	h.last = !h.last
	w.served(h)
	w.turns.MoveToBack(h.turn)
	s := at.Value.(*Session)
	w.remove(s)
	return s
}

// hostOf returns the host of an address: an IPv4 address, or the network of an IPv6 one, which
// is one customer's; and the zero Prefix when it is no address of IP.
func hostOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip, bits := tcp.AddrPort().Addr().Unmap(), 32
	if !ip.Is4() {
		bits = 64
	}
	host, _ := ip.Prefix(bits) // of the zero Addr the zero Prefix
	return host
}
