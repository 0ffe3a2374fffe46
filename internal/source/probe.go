package source

import (
	"io"
	"net"
	"sync"
	"time"
)

// A probe checks a connection that has no descriptor, such as net.Pipe, with a
// Read of no bytes. Such a Read may wait for the peer, so each probe has its own
// goroutine. If it is inside Read when the probe is stopped, it stays there
// until the peer sends something or the connection ends.
type probe struct {
	r net.Conn

	mu      sync.Mutex
	report  chan<- error // nil while it is stopped
	running bool
}

func (p *probe) start(report chan<- error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report = report
	if !p.running {
		p.running = true
		go p.run()
	}
}

func (p *probe) stop() {
	p.mu.Lock()
	p.report = nil
	p.mu.Unlock()
}

func (p *probe) run() {
	for {
		_, err := p.r.Read(nil)
		if !p.goOn(err) {
			return
		}
		time.Sleep(lookEvery)
	}
}

func (p *probe) goOn(err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == io.EOF {
		// The peer has ended, which is no reason to wait no longer: bytes that
		// came before may be in the reader.
		p.report = nil
	}
	if err != nil && p.report != nil {
		select {
		case p.report <- err:
		default:
		}
		p.report = nil
	}
	p.running = p.report != nil
	return p.running
}
