package live

import "slices"

// standbys are the publishers of a stream that wait to take the place of the one that
// viewers get.
//
//	        Hub.Publish, Standby
//	                 |
//	                 v    next key frame, place is free and not held
//	Close <------ waiting --------------------------> publishing ------> Close
//	                 ^                                    |
//	                 +---- Hold, or silent for too long --+
type standbys struct {
	fresh   int64        // when the latest frame came from the publisher, on the stream's clock
	waiting []*Publisher // in the order in which they came
	held    bool         // none may begin: the stream's publisher is on another server
	numbers numbers      // of the marks of all of them
}

// add lets p wait; w is what is kept of it.
func (b *standbys) add(p *Publisher, w *warm) {
	p.warm = w
	b.waiting = append(b.waiting, p)
}

// unlist takes p off those that wait. From then on what is kept of it is not trimmed.
func (b *standbys) unlist(p *Publisher) {
	b.waiting = slices.DeleteFunc(b.waiting, func(o *Publisher) bool { return o == p })
}

// remove ends that p waits.
func (b *standbys) remove(p *Publisher) {
	if p.warm == nil {
		return
	}
	b.unlist(p)
	p.warm.end()
	p.warm = nil
}

// trim lets go of what takes more than most bytes of memory.
func (b *standbys) trim(most int64) {
	for _, p := range b.waiting {
		p.warm.trim(most)
	}
}
