package directory

import (
	"maps"
	"slices"
	"time"
)

// What becomes a message or an event goes in the order of names, so that a history
// can be repeated.

// A peer is a node with its list.
type peer struct {
	name    string
	run     uint64
	version uint64 // of the list
	entries map[string]*Entry
	sum     uint64
	node    Node
	heard   time.Time // of its latest message
	newest  uint64    // version of the list that was heard of
	lacking bool      // that version of the list is not known
	asked   time.Time // when it was asked for
	partial partial
}

// partial is a list of which not all parts have come.
type partial struct {
	version uint64
	parts   map[int][]Entry
}

// Receive applies a message from another node, that came at now. Messages of this
// node itself and of an earlier run of another are left alone.
func (d *Directory) Receive(now time.Time, m Message) {
	if m.check() != nil {
		return
	}
	if m.From == d.own.name {
		if m.Run != d.own.run && m.Kind != Gone {
			d.twin = now
		}
		return
	}
	if e, ok := d.ended[m.From]; ok && (m.Run == e.run || m.Run < e.run && now.Sub(e.at) < d.options.Silence) {
		return // late; later on a smaller run is a new one, by a clock that is behind
	}
	p := d.peers[m.From]
	if p != nil && m.Run < p.run {
		return
	}
	d.saw(m.Epoch())
	if m.Kind == Gone {
		d.ended[m.From] = ending{m.Run, now}
		if p != nil {
			d.forget(m.From, p, false)
		}
		return
	}
	if p != nil && m.Run > p.run { // it has restarted
		d.forget(m.From, p, false)
		p = nil
	}
	if p == nil {
		p = &peer{name: m.From, run: m.Run, entries: map[string]*Entry{}}
		d.peers[m.From] = p
		d.changes = append(d.changes, Event{Node: m.From, Joined: true})
		d.digest(now, m.From) // so that it knows this node at once
	}
	p.heard = now
	switch m.Kind {
	case Digest:
		d.receiveDigest(now, p, m)
	case Change:
		if m.Before == p.version {
			d.apply(p, m.Entries, m.Removed)
			p.has(m.Version)
		} else if m.Before > p.version {
			d.ask(now, p, m.Version)
		}
	case Want:
		d.sendList(m.From)
	case List:
		d.receiveList(p, m)
	}
}

func (d *Directory) receiveDigest(now time.Time, p *peer, m Message) {
	if m.Node != nil && p.node != *m.Node {
		first, drains := p.node == Node{}, p.node.Draining != m.Node.Draining
		p.node = *m.Node
		d.changes = append(d.changes, Event{Node: p.name})
		if first || drains {
			d.touched(p) // whether they can be pulled, and who wins
		}
	}
	switch {
	case m.Version < p.version: // overtaken by a change
	case m.Sum == p.sum && m.Count == len(p.entries):
		p.has(m.Version) // at most figures were missed
	default:
		d.ask(now, p, m.Version)
	}
}

// has notes that the list is known in that version. A later one may have been heard of
// meanwhile: then it is still lacking.
func (p *peer) has(version uint64) {
	p.version = version
	p.lacking = version < p.newest
}

// ask asks a node for its list in that version or a later one, unless that was done a
// moment ago. Tick asks again until the list has come.
func (d *Directory) ask(now time.Time, p *peer, version uint64) {
	p.newest = max(p.newest, version)
	p.lacking = true
	if now.Sub(p.asked) < d.options.Digest/4 {
		return
	}
	p.asked = now
	d.send(Message{Kind: Want, To: p.name})
}

func (d *Directory) sendList(to string) {
	list := make([]Entry, 0, len(d.own.entries))
	for _, stream := range slices.Sorted(maps.Keys(d.own.entries)) {
		list = append(list, *d.own.entries[stream])
	}
	parts := max((len(list)+partSize-1)/partSize, 1)
	for i := range parts {
		some := list[i*partSize : min((i+1)*partSize, len(list))]
		d.send(Message{Kind: List, To: to, Version: d.own.version, Entries: some, Part: i, Parts: parts})
	}
}

// receiveList replaces a node's list when all parts of the new one are here. A list
// older than what is known is left alone.
func (d *Directory) receiveList(p *peer, m Message) {
	if m.Version < p.version || m.Parts == 0 || m.Part >= m.Parts {
		return
	}
	if p.partial.version != m.Version || p.partial.parts == nil {
		p.partial = partial{m.Version, map[int][]Entry{}}
	}
	p.partial.parts[m.Part] = m.Entries
	if len(p.partial.parts) < m.Parts {
		return
	}
	fresh := make(map[string]bool, len(m.Entries))
	var put []Entry
	for part := range m.Parts {
		for _, e := range p.partial.parts[part] {
			fresh[e.Stream] = true
			put = append(put, e)
		}
	}
	p.partial = partial{}
	var removed []string
	for _, stream := range slices.Sorted(maps.Keys(p.entries)) {
		if !fresh[stream] {
			removed = append(removed, stream)
		}
	}
	d.apply(p, put, removed)
	p.has(m.Version)
}

func (d *Directory) apply(p *peer, put []Entry, removed []string) {
	for _, stream := range removed {
		d.around(stream, p.name, func() bool { return d.drop(p, stream) })
	}
	for _, e := range put {
		if len(p.entries) >= maxEntries && p.entries[e.Stream] == nil {
			continue
		}
		d.around(e.Stream, p.name, func() bool { return d.put(p, e) })
	}
}

// A Suspect is a node that may have died.
type Suspect struct {
	Name, URL string
	Run       uint64
	Silent    time.Duration
}

// Suspects returns the nodes that have been silent for so long at now, by name.
func (d *Directory) Suspects(now time.Time, silent time.Duration) (list []Suspect) {
	for _, name := range slices.Sorted(maps.Keys(d.peers)) {
		if p := d.peers[name]; now.Sub(p.heard) >= silent {
			list = append(list, Suspect{name, p.node.URL, p.run, now.Sub(p.heard)})
		}
	}
	return list
}

// Dead says that a node's process has ended: it is forgotten at once.
func (d *Directory) Dead(s Suspect) {
	if p := d.peers[s.Name]; p != nil && p.run == s.Run {
		d.forget(s.Name, p, true)
	}
}

// forget removes a node with all its streams.
func (d *Directory) forget(name string, p *peer, silent bool) {
	delete(d.peers, name)
	for _, stream := range slices.Sorted(maps.Keys(p.entries)) {
		d.around(stream, name, func() bool { return d.drop(p, stream) })
	}
	d.changes = append(d.changes, Event{Node: name, Left: true, Silent: silent})
}
