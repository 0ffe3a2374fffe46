package directory

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Options configure a Directory. Node and Run are required.
type Options struct {
	Node   string
	Run    uint64 // larger than that of the node's earlier starts
	Policy Policy // Refuse
	// Of returns the policy of a stream; nil: Policy is that of all. All nodes of a
	// cluster have to have the same.
	Of func(stream string) Policy
	// Digest is the time between two digests; 1 s.
	Digest time.Duration
	// Silence is how long a node may be silent until it is forgotten: 2.9 s, by
	// which three digests are missing.
	Silence time.Duration
	// Figures is how often changes of figures alone are sent; 5 s.
	Figures time.Duration
	// Direct is how many nodes pull a stream from its publisher's node; further ones pull
	// from those. 64.
	Direct int
}

// A Directory is one node's knowledge of a cluster.
type Directory struct {
	options Options
	clock   uint64 // the largest epoch seen
	own     peer   // this node's list, as the others have it
	self    Node
	peers   map[string]*peer
	streams map[string][]holder // by name, in the order of their ranks
	ended   map[string]ending   // nodes that said that they leave
	twin    time.Time           // when another node of this name was heard last

	ticked    time.Time // the latest Tick
	digestAt  time.Time // when the next one is due
	figuresAt time.Time
	stale     map[string]bool // own entries whose figures have changed

	out     []Message
	changes []Event
}

// A holder is a node that has a stream.
type holder struct {
	peer  *peer
	entry *Entry
}

func (h holder) rank() Rank { return Rank{h.entry.Epoch, h.peer.name} }

// ending is a node that has left: its late messages do not count.
type ending struct {
	run uint64
	at  time.Time
}

// tombstone is how long a node that has left is remembered.
const tombstone = 30 * time.Second

// New returns the directory of a node that has no streams and knows no others.
func New(o Options) *Directory {
	if o.Node == "" || o.Run == 0 {
		panic(fmt.Sprintf("directory: New for the node %q, run %d", o.Node, o.Run))
	}
	o.Policy = cmp.Or(o.Policy, Refuse)
	o.Digest = cmp.Or(o.Digest, time.Second)
	o.Silence = cmp.Or(o.Silence, 2900*time.Millisecond)
	o.Figures = cmp.Or(o.Figures, 5*time.Second)
	o.Direct = cmp.Or(o.Direct, direct)
	return &Directory{
		options: o,
		own:     peer{name: o.Node, run: o.Run, entries: map[string]*Entry{}},
		self:    Node{Policy: o.Policy},
		peers:   map[string]*peer{},
		streams: map[string][]holder{},
		ended:   map[string]ending{},
		stale:   map[string]bool{},
	}
}

// An Event says that something about a stream, or with an empty Stream about a
// node, has changed.
type Event struct {
	Stream string
	Node   string // that came, went or changed
	// Joined is set when the node is new, Left when it is forgotten: because it said that
	// it leaves, or else because it was Silent.
	Joined, Left, Silent bool
	// Lost is set when this node's publication of the stream, with that epoch, is no
	// longer the winner, and Won when it has become it.
	Lost, Won bool
	Epoch     uint64
	Winner    Rank
	// Active is the publication that nodes pull, which under Standby may be another than
	// the winner until that begins; the zero Rank when there is none.
	Active Rank
}

// Take returns the messages to send and the events since the last call.
func (d *Directory) Take() ([]Message, []Event) {
	out, changes := d.out, d.changes
	d.out, d.changes = nil, nil
	return out, changes
}

// saw moves the clock on to an epoch of another node, or maxStep towards it.
func (d *Directory) saw(epoch uint64) { d.clock = max(d.clock, min(epoch, d.clock+maxStep)) }

func (d *Directory) send(m Message) {
	m.From, m.Run, m.Clock = d.own.name, d.own.run, d.clock
	d.out = append(d.out, m)
}

// insert adds a holder of a stream at its place.
func (d *Directory) insert(stream string, h holder) {
	list := d.streams[stream]
	i, _ := slices.BinarySearchFunc(list, h.rank(), func(a holder, r Rank) int {
		if a.rank().Before(r) {
			return -1
		}
		return 1
	})
	d.streams[stream] = slices.Insert(list, i, h)
}

func (d *Directory) remove(stream string, p *peer) {
	list := slices.DeleteFunc(d.streams[stream], func(h holder) bool { return h.peer == p })
	if len(list) == 0 {
		delete(d.streams, stream)
		return
	}
	d.streams[stream] = list
}

// put makes e the entry of p for its stream, and reports whether more than its
// figures has changed.
func (d *Directory) put(p *peer, e Entry) bool {
	if old := p.entries[e.Stream]; old != nil {
		if old.key() == e.key() {
			*old = e
			return false
		}
		p.sum -= old.hash()
		d.remove(e.Stream, p)
	}
	kept := new(Entry)
	*kept = e
	p.entries[e.Stream] = kept
	p.sum += e.hash()
	d.saw(e.Epoch)
	d.insert(e.Stream, holder{p, kept})
	return true
}

// drop removes p's entry of a stream.
func (d *Directory) drop(p *peer, stream string) bool {
	old := p.entries[stream]
	if old == nil {
		return false
	}
	p.sum -= old.hash()
	delete(p.entries, stream)
	d.remove(stream, p)
	return true
}

// Winner returns the publication of a stream that counts.
func (d *Directory) Winner(stream string) (Rank, bool) {
	h, ok := d.winner(stream)
	if !ok {
		return Rank{}, false
	}
	return h.rank(), true
}

func (d *Directory) winner(stream string) (best holder, ok bool) {
	return d.best(stream, func(*Entry) bool { return true })
}

// active returns the publication of a stream that nodes pull: the winner, unless that
// has not begun yet.
func (d *Directory) active(stream string) (best holder, ok bool) {
	return d.best(stream, func(e *Entry) bool { return !e.Waiting })
}

func (d *Directory) best(stream string, counts func(*Entry) bool) (best holder, ok bool) {
	policy := d.policy(stream)
	for _, h := range d.streams[stream] {
		if h.entry.Level > 0 || !counts(h.entry) {
			continue
		}
		if !ok || d.beats(policy, h, best) {
			best, ok = h, true
		}
	}
	return best, ok
}

func (d *Directory) policy(stream string) Policy {
	if d.options.Of == nil {
		return d.options.Policy
	}
	return d.options.Of(stream)
}

// beats reports whether h wins over o. Nodes that drain have no standbys when other nodes
// have some.
func (d *Directory) beats(policy Policy, h, o holder) bool {
	if policy == Standby && d.leaves(h.peer) != d.leaves(o.peer) {
		return d.leaves(o.peer)
	}
	return policy.beats(h.rank(), o.rank())
}

// leaves reports whether a node drains.
func (d *Directory) leaves(p *peer) bool {
	if p == &d.own {
		return d.self.Draining
	}
	return p.node.Draining
}

// around runs change, which is about the given stream and node, and notes what
// became different by it for this node's own publication.
func (d *Directory) around(stream, node string, change func() bool) {
	mine := d.own.entries[stream]
	before, had := d.winner(stream)
	var was Rank
	if had {
		was = before.rank()
	}
	if !change() {
		return
	}
	e := Event{Stream: stream, Node: node}
	after, has := d.winner(stream)
	if has {
		e.Winner = after.rank()
	}
	if active, ok := d.active(stream); ok {
		e.Active = active.rank()
	}
	if now := d.own.entries[stream]; now != nil && now == mine && now.Level == 0 {
		own := Rank{now.Epoch, d.own.name}
		e.Epoch = now.Epoch
		e.Lost = had && was == own && e.Winner != own
		e.Won = has && e.Winner == own && was != own
	}
	d.changes = append(d.changes, e)
}
