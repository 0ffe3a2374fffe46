//go:build !386 && !s390x

package intake

import (
	"net"
	"runtime"
	"sync"
)

// mostLoops is how many loops there are at most: one reads 10,000 publishers and more.
const mostLoops = 4

// Loops read connections, from Start to Close. The zero Loops is ready for use, by any
// goroutine.
type Loops struct {
	mu      sync.Mutex
	loops   []*loop
	next    int
	started bool
}

// Start starts the loops. Without it, and where there cannot be any, there are none. Later
// calls do nothing.
func (l *Loops) Start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started {
		return
	}
	l.started = true
	for range min(runtime.GOMAXPROCS(0), mostLoops) {
		fresh, err := newLoop()
		if err != nil {
			return
		}
		l.loops = append(l.loops, fresh)
		go fresh.run()
	}
}

// Take returns conn, transferred, as a connection that a loop can read later on.
func (l *Loops) Take(conn *net.TCPConn) *Conn {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	return &Conn{loops: l, tcp: conn, raw: raw, fd: -1, slot: noSlot, local: conn.LocalAddr(), remote: conn.RemoteAddr()}
}

// loop returns the loop for another connection, or nil when there is none.
func (l *Loops) loop() *loop {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.loops) == 0 {
		return nil
	}
	l.next++
	return l.loops[l.next%len(l.loops)]
}

// Close ends the loops, and waits for that. Connections in them are their goroutines'
// again.
func (l *Loops) Close() {
	l.mu.Lock()
	l.started = true
	loops := l.loops
	l.loops = nil
	l.mu.Unlock()
	for _, x := range loops {
		x.stop()
	}
}
