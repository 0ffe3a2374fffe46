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
	starts  uint64       // number of the latest start
	running bool
}

func (p *probe) start(report chan<- error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report = report
	p.starts++
	if !p.running {
		p.running = true
		go p.run(p.starts)
	}
}

func (p *probe) stop() {
	p.mu.Lock()
	p.report = nil
	p.mu.Unlock()
}

func (p *probe) run(start uint64) {
	for {
		_, err := p.r.Read(nil)
		if start = p.goOn(start, err); start == 0 {
			return
		}
		time.Sleep(lookEvery)
	}
}

// goOn takes the error of a Read that was made for that start, and returns which one the next
// Read is for, 0 for none. The error of a Read for an earlier start says nothing: a deadline may
// have been taken away since.
func (p *probe) goOn(start uint64, err error) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if start == p.starts {
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
	}
	if p.running = p.report != nil; !p.running {
		return 0
	}
	return p.starts
}
