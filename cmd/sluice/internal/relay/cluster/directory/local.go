package directory

import (
	"maps"
	"slices"
	"time"
)

// Publish enters a publication on this node. Under Refuse it fails when another
// node publishes the stream, which winner then names. Otherwise it returns the new
// epoch, and in winner who has the stream: this node, or with Standby perhaps
// another. An older entry of this node for the stream is replaced.
func (d *Directory) Publish(stream, publisher string) (epoch uint64, winner Rank, ok bool) {
	policy := d.policy(stream)
	if policy == Refuse {
		for _, h := range d.streams[stream] {
			if h.peer != &d.own && h.entry.Level == 0 {
				return 0, h.rank(), false
			}
		}
	}
	d.clock++
	epoch = d.clock
	waits := false
	if policy == Standby { // it begins at once when there is no other
		if best, other := d.winner(stream); other && best.peer != &d.own {
			waits = true
		}
	}
	d.change([]Entry{{Stream: stream, Epoch: epoch, Publisher: publisher, Waiting: waits}}, nil)
	winner, _ = d.Winner(stream)
	return epoch, winner, true
}

// Copy enters that this node pulls a stream from another, which has it with the
// given epoch and level. It does nothing when this node publishes the stream.
func (d *Directory) Copy(stream string, epoch uint64, level int, from string) {
	if e := d.own.entries[stream]; e != nil && e.Level == 0 {
		return
	}
	level = min(max(level, 0)+1, maxLevel)
	e := Entry{Stream: stream, Epoch: epoch, Level: level, From: from}
	if old := d.own.entries[stream]; old != nil && old.key() == e.key() {
		return
	}
	d.change([]Entry{e}, nil)
}

// Lost reports whether this node publishes a stream and another node's publication wins.
func (d *Directory) Lost(stream string) (winner string, lost bool) {
	e := d.own.entries[stream]
	if e == nil || e.Level > 0 {
		return "", false
	}
	best, _ := d.winner(stream)
	return best.peer.name, best.entry != e
}

// Held returns the epoch of this node's publication of a stream, and whether under
// Standby it has to wait for another one: while that wins and has begun, and until then,
// too, if this one has not begun.
func (d *Directory) Held(stream string) (epoch uint64, held, ok bool) {
	e := d.own.entries[stream]
	if e == nil || e.Level > 0 {
		return 0, false, false
	}
	best, _ := d.winner(stream)
	return e.Epoch, d.policy(stream) == Standby && best.entry != e && (e.Waiting || !best.entry.Waiting), true
}

// SetActive says whether viewers get this node's publication of a stream, with that epoch.
func (d *Directory) SetActive(stream string, epoch uint64, on bool) {
	e := d.own.entries[stream]
	if e == nil || e.Level > 0 || e.Epoch != epoch || e.Waiting == !on {
		return
	}
	next := *e
	next.Waiting = !on
	d.change([]Entry{next}, nil)
}

// Yield puts this node's publication of a stream behind all others, of which at least one
// has to be there on a node that does not drain, and returns its new epoch.
func (d *Directory) Yield(stream string, epoch uint64) (next uint64, ok bool) {
	e := d.own.entries[stream]
	best, _ := d.winner(stream)
	if e == nil || e.Level > 0 || e.Epoch != epoch || best.entry != e {
		return 0, false
	}
	for _, h := range d.streams[stream] {
		ok = ok || h.entry.Level == 0 && h.peer != &d.own && !d.leaves(h.peer)
	}
	if !ok {
		return 0, false
	}
	d.clock++
	last := *e
	last.Epoch = d.clock
	d.change([]Entry{last}, nil)
	return last.Epoch, true
}

// Remove removes this node's entry of a stream, if it has that epoch; 0 is any epoch
// of a copy.
func (d *Directory) Remove(stream string, epoch uint64) {
	e := d.own.entries[stream]
	if e == nil || epoch == 0 && e.Level == 0 || epoch != 0 && (e.Epoch != epoch || e.Level > 0) {
		return
	}
	d.change(nil, []string{stream})
}

// change changes this node's list, and sends that to the others.
func (d *Directory) change(put []Entry, removed []string) {
	for _, e := range put {
		d.around(e.Stream, d.own.name, func() bool { return d.put(&d.own, e) })
		delete(d.stale, e.Stream)
	}
	for _, stream := range removed {
		d.around(stream, d.own.name, func() bool { return d.drop(&d.own, stream) })
		delete(d.stale, stream)
	}
	d.own.version++
	d.send(Message{Kind: Change, Version: d.own.version, Before: d.own.version - 1, Entries: put, Removed: removed})
}

// SetFigures sets the figures of a stream of this node. They are sent with others,
// from time to time, when they have become different by an eighth.
func (d *Directory) SetFigures(stream string, bitrate int64, viewers int) {
	e := d.own.entries[stream]
	if e == nil || !differs(e.Bitrate, bitrate) && !differs(int64(e.Viewers), int64(viewers)) {
		return
	}
	e.Bitrate, e.Viewers = bitrate, viewers
	d.stale[stream] = true
}

func differs(a, b int64) bool {
	apart := max(a-b, b-a)
	return apart > max(a, b)/8
}

// SetNode sets what this node says of itself. A node that begins to drain says so
// at once, otherwise it goes with the next digest.
func (d *Directory) SetNode(now time.Time, n Node) {
	hurry := n.Draining != d.self.Draining
	n.Policy = d.options.Policy
	d.self = n
	if hurry {
		d.digest(now, "")
		d.touched(&d.own)
	}
}

// touched makes an event of each stream of a node, of which something else has changed
// than its list.
func (d *Directory) touched(p *peer) {
	for _, stream := range slices.Sorted(maps.Keys(p.entries)) {
		d.around(stream, p.name, func() bool { return true })
	}
}

// Leave says that this node leaves, with all that it has.
func (d *Directory) Leave() { d.send(Message{Kind: Gone}) }

// Tick does what is due at now: the digest, figures, forgetting silent nodes. While
// connected is false nothing can be heard, so no node is forgotten. Call it several
// times a second: when it was not called for longer than Digest, this process stood still,
// and that time does not count as the others' silence.
func (d *Directory) Tick(now time.Time, connected bool) {
	if !now.Before(d.digestAt) {
		d.digest(now, "")
		d.digestAt = now.Add(d.options.Digest)
	}
	if !now.Before(d.figuresAt) {
		d.sendFigures()
		d.figuresAt = now.Add(d.options.Figures)
	}
	stood := time.Duration(0)
	if since := now.Sub(d.ticked); !d.ticked.IsZero() && since > d.options.Digest {
		stood = since
	}
	d.ticked = now
	for _, name := range slices.Sorted(maps.Keys(d.peers)) {
		p := d.peers[name]
		p.heard = p.heard.Add(stood)
		switch {
		case !connected:
			p.heard = now
		case now.Sub(p.heard) >= d.options.Silence:
			d.forget(name, p, true)
		case p.lacking:
			d.ask(now, p, p.newest)
		}
	}
	for name, e := range d.ended {
		if now.Sub(e.at) >= tombstone {
			delete(d.ended, name)
		}
	}
}

// Hurry sends a digest now: a connection to other nodes is new.
func (d *Directory) Hurry(now time.Time) { d.digest(now, "") }

func (d *Directory) digest(_ time.Time, to string) {
	self := d.self
	d.send(Message{Kind: Digest, To: to, Version: d.own.version, Count: len(d.own.entries), Sum: d.own.sum, Node: &self})
}

// sendFigures sends the figures that have changed. They are a change of the list
// that leaves its sum as it is.
func (d *Directory) sendFigures() {
	var batch []Entry
	flush := func() {
		if len(batch) == 0 {
			return
		}
		d.own.version++
		d.send(Message{Kind: Change, Version: d.own.version, Before: d.own.version - 1, Entries: batch})
		batch = nil
	}
	for _, stream := range slices.Sorted(maps.Keys(d.stale)) {
		if e := d.own.entries[stream]; e != nil {
			batch = append(batch, *e)
		}
		if len(batch) == partSize {
			flush()
		}
	}
	flush()
	clear(d.stale)
}
