package listen

import (
	"net"
	"sync"
	"time"
)

// lateSteps are the parts of a limit in which the peer is looked at.
const lateSteps = 10

// Late calls f, once and on a goroutine of its own, when the server has waited for conn's peer for so
// long. A time in which bytes of the peer lie unread and none are read does not count, nor one in which
// this process stood still: then it is the server that is late. f must not wait: stop, after which f is
// not called, waits for it.
func Late(conn net.Conn, within time.Duration, f func()) (stop func()) {
	l := &limit{conn: Bare(conn), step: max(within/lateSteps, 1), left: lateSteps, f: f}
	_, l.read, _ = passed(l.conn)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(l.step, l.look)
	return l.stop
}

type limit struct {
	conn net.Conn
	step time.Duration
	f    func()

	mu    sync.Mutex
	timer *time.Timer
	left  int   // steps; 0: it is over
	read  int64 // bytes, at the latest look
}

func (l *limit) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return
	}
	unread, read, _ := passed(l.conn)
	if unread == 0 || read > l.read {
		l.left--
	}
	l.read = read
	if l.left == 0 {
		l.f()
		return
	}
	l.timer.Reset(l.step)
}

func (l *limit) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = 0
	l.timer.Stop()
}

// Bare returns the connection below TLS and wrappers.
func Bare(conn net.Conn) net.Conn {
	for {
		c, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = c.NetConn()
	}
}
