//go:build unix && !aix && !solaris && !illumos

package aio

import (
	"context"
	"errors"
	"net"
	"os"
)

func (p *readiness) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		<-p.gone
		return
	}
	p.closed = true
	p.mu.Unlock()
	for _, c := range p.all() {
		c.mu.Lock()
		p.drop(c, ErrWatcherClosed)
		c.mu.Unlock()
	}
	close(p.gone)
	_ = p.file.Close()
	if p.waiting.TryLock() {
		p.counted.end()
		p.waiting.Unlock()
	}
}

// all returns the connections that there are.
func (p *readiness) all() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*conn, 0, len(p.conns)+len(p.values))
	for _, c := range p.fds {
		if c != nil {
			all = append(all, c)
		}
	}
	return all
}

func (p *readiness) shutdown(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.draining = true
	p.mu.Unlock()
	for _, c := range p.all() {
		c.mu.Lock()
		for c.reads.tail != nil {
			p.completeRead(c, c.reads.head(), result{err: ErrWatcherClosed})
		}
		c.mu.Unlock()
	}
	defer p.close()
	p.mu.Lock()
	if p.writes == 0 {
		p.mu.Unlock()
		return nil
	}
	if p.drained == nil {
		p.drained = make(chan struct{})
	}
	drained := p.drained
	p.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-p.gone:
		return ErrWatcherClosed
	case <-ctx.Done():
	}
	select {
	case <-drained: // both at once: everything is written
		return nil
	default:
		return context.Cause(ctx)
	}
}

func (p *readiness) stats() Stats {
	var pending int
	var queued, held int64
	all := p.all()
	for _, c := range all {
		c.mu.Lock()
		pending += int(c.pending)
		held += int64(c.held)
		for o := c.writes.head(); o != nil; o = c.writes.after(o) {
			queued += int64(o.size - o.done)
		}
		c.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.counters
	s.Conns, s.Pending, s.QueuedBytes, s.QueuedHeld = len(all), pending, queued, held
	s.ReadCalls, s.WriteCalls = p.readCalls.Load(), p.writeCalls.Load()
	return s
}

// pollerFD returns the poller's descriptor. Called with mu, before close.
func (p *readiness) pollerFD() int { return p.poller.fd }

func isClosed(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed)
}
