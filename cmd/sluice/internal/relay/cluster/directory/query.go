package directory

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// A Source is a node that a stream can be pulled from.
type Source struct {
	Node      string
	URL       string
	Epoch     uint64
	Level     int // 0: the publisher's node
	Publisher string
}

// direct is the default of Options.Direct.
const direct = 64

// Sources returns the nodes from which this node can pull a stream, the best first:
// the publisher's node, unless so many pull from there that others have to be asked
// first, then those that pull from it, each node in an order of its own. Nodes that
// drain come last. A copy of another publication than the winner's is left out,
// unless there is no winner.
func (d *Directory) Sources(stream string) []Source {
	best, published := d.active(stream)
	if published && best.peer == &d.own {
		return nil
	}
	var list []Source
	pulled := 0
	for _, h := range d.streams[stream] {
		switch {
		case h.entry.Level == 1 && published && h.entry.Epoch == best.entry.Epoch:
			pulled++
		case h.entry.Level == 0 && h != best:
			continue // not what viewers get
		}
		if h.peer == &d.own || h.peer.node.URL == "" || h.entry.Level >= maxLevel || h.entry.From == d.own.name {
			continue
		}
		if h.entry.Level > 0 && published && h.entry.Epoch != best.entry.Epoch {
			continue
		}
		list = append(list, Source{h.peer.name, h.peer.node.URL, h.entry.Epoch, h.entry.Level, h.entry.Publisher})
	}
	mine := d.own.entries[stream]
	crowded := pulled >= d.options.Direct && (mine == nil || mine.Level != 1)
	slices.SortStableFunc(list, func(a, b Source) int {
		return cmp.Or(
			cmp.Compare(d.drains(a), d.drains(b)),
			cmp.Compare(b.Epoch, a.Epoch),
			cmp.Compare(behind(a, crowded), behind(b, crowded)),
			cmp.Compare(Weight(stream+d.own.name, b.Node), Weight(stream+d.own.name, a.Node)),
		)
	})
	return list
}

// seldom is the bit rate under which a stream may send nothing for seconds.
const seldom = 2000

// Quiet reports whether a node, which was heard within that time before now, has a stream and says
// that next to nothing comes of it.
func (d *Directory) Quiet(now time.Time, stream, node string, within time.Duration) bool {
	p := d.peers[node]
	if p == nil || now.Sub(p.heard) > within {
		return false
	}
	e := p.entries[stream]
	return e != nil && e.Bitrate < seldom
}

// Complete reports whether there are other nodes, and the lists of all that are known.
func (d *Directory) Complete() bool {
	for _, p := range d.peers {
		if p.lacking || p.node == (Node{}) {
			return false
		}
	}
	return len(d.peers) > 0
}

// Leaving reports whether this node pulls a stream from one that drains, or that pulls it over
// so many others by now that it is no source any more, while another is one.
func (d *Directory) Leaving(stream string) bool {
	e := d.own.entries[stream]
	if e == nil || e.Level == 0 {
		return false
	}
	from := d.peers[e.From]
	if from == nil {
		return false
	}
	theirs := from.entries[stream]
	deep := theirs != nil && theirs.Level >= maxLevel
	list := d.Sources(stream)
	return (from.node.Draining || deep) && len(list) > 0 && d.drains(list[0]) == 0
}

// Needed returns how many streams other nodes still get from this one, although they can
// have them from another, or will be able to at the next key frame of a standby.
func (d *Directory) Needed() (n int) {
	for stream, list := range d.streams {
		best, ok := d.active(stream)
		for _, h := range list {
			switch {
			case !ok || h.peer == &d.own:
			case best.peer == &d.own: // while another stands by
				if h.entry.Level > 0 || d.leaves(h.peer) {
					continue
				}
				n++
			case h.entry.Level > 0 && h.entry.From == d.own.name:
				n++
			}
		}
	}
	return n
}

func (d *Directory) drains(s Source) int {
	if d.peers[s.Node].node.Draining {
		return 1
	}
	return 0
}

// behind is the place of a source by its level.
func behind(s Source, crowded bool) int {
	if crowded && s.Level == 0 {
		return 2
	}
	return s.Level
}

// Weight is the weight of a node for a stream in rendezvous hashing: the node with
// the largest has it. A node that comes or goes moves only its own streams.
func Weight(stream, node string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(stream))
	h.Write([]byte{0})
	h.Write([]byte(node))
	return mix(h.Sum64())
}

// NodeStatus is a node as this one sees it.
type NodeStatus struct {
	Name    string        `json:"name"`
	URL     string        `json:"url"`
	Self    bool          `json:"self,omitempty"`
	Version string        `json:"version,omitempty"`
	Policy  Policy        `json:"policy"`
	Viewers int           `json:"viewers"`
	Load    float64       `json:"load"`
	Drains  bool          `json:"draining,omitempty"`
	Streams int           `json:"streams"`
	Bans    uint64        `json:"-"` // sum of its bans
	Play    string        `json:"play_url,omitempty"`
	Room    int           `json:"room"`
	Silent  time.Duration `json:"silent_ns,omitempty"` // since its last message
}

// Nodes returns the nodes, this one included, by name.
func (d *Directory) Nodes(now time.Time) []NodeStatus {
	status := func(p *peer, n Node) NodeStatus {
		return NodeStatus{Name: p.name, URL: n.URL, Version: n.Version, Policy: n.Policy, Viewers: n.Viewers, Load: n.Load, Drains: n.Draining, Streams: len(p.entries), Bans: n.Bans, Play: n.Play, Room: n.Room}
	}
	self := status(&d.own, d.self)
	self.Self = true
	list := []NodeStatus{self}
	for _, p := range d.peers {
		s := status(p, p.node)
		s.Silent = now.Sub(p.heard)
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b NodeStatus) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// A Holding is a stream on a node.
type Holding struct {
	Entry
	Node   string `json:"node"`
	Winner bool   `json:"winner,omitempty"` // the publication that viewers get, or will get at its next key frame
}

// Holdings returns who has what, by stream and then by node; with a name only those
// of that stream.
func (d *Directory) Holdings(stream string) []Holding {
	var list []Holding
	add := func(name string, holders []holder) {
		best, _ := d.winner(name)
		for _, h := range holders {
			list = append(list, Holding{*h.entry, h.peer.name, h == best})
		}
	}
	if stream != "" {
		add(stream, d.streams[stream])
	} else {
		for name, holders := range d.streams {
			add(name, holders)
		}
	}
	slices.SortFunc(list, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Level, b.Level), cmp.Compare(a.Node, b.Node))
	})
	return list
}

// Problems returns what is wrong with the cluster, as this node sees it.
func (d *Directory) Problems(now time.Time) []string {
	var list []string
	if !d.twin.IsZero() && now.Sub(d.twin) < tombstone {
		list = append(list, fmt.Sprintf("another node is called %s, too", d.own.name))
	}
	for _, n := range d.Nodes(now) {
		if n.Policy != d.options.Policy && n.Policy != "" {
			list = append(list, fmt.Sprintf("node %s has the takeover policy %s, this one %s", n.Name, n.Policy, d.options.Policy))
		}
	}
	return list
}
