//go:build unix && !aix && !solaris && !illumos

package aio

import (
	"io"
	"runtime"
)

// sentinel is something that nobody holds, so that its end tells of a collection.
// It is too large to share its memory with others, which would keep it.
type sentinel struct{ _ [32]byte }

// watchCollector has the next collection followed by a look for connections that
// the program has forgotten. A cleanup on each connection would say the same, for
// a hundred bytes each.
func (p *readiness) watchCollector() {
	runtime.AddCleanup(new(sentinel), (*readiness).collected, p)
}

// collected closes the connections whose names have been collected.
func (p *readiness) collected() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	var forgotten []*conn
	for _, c := range p.fds {
		if c != nil && c.key != 0 && c.self.Value() == nil {
			forgotten = append(forgotten, c)
		}
	}
	p.counters.Found += uint32(len(forgotten))
	p.mu.Unlock()
	for _, c := range forgotten {
		c.mu.Lock()
		dropped := p.drop(c, io.ErrClosedPipe)
		c.mu.Unlock()
		if dropped {
			p.mu.Lock()
			p.counters.Collected++
			p.mu.Unlock()
		}
	}
	p.watchCollector()
}
