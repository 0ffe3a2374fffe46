//go:build !386 && !s390x

package intake

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/sys"
)

const (
	// eventsAtOnce is how many connections are read before other goroutines run: what has
	// come is to be sent on.
	eventsAtOnce = 64
	// lateBy is how often deadlines are looked at. It takes 20 ns for each connection.
	lateBy = 50 * time.Millisecond
	// From busyReads reads a millisecond on, a loop looks what has come each pause and not
	// whenever something has. At 30 frames/s these are 130 publishers; waking for each
	// frame of theirs would take as long as reading it. From crowdedReads on, 530 publishers,
	// it pauses twice as long.
	busyReads    = 4
	crowdedReads = 16
	pause        = time.Millisecond
	// unseen is how long a loop works before the runtime's monitor thread is woken, without
	// which the runtime does not poll while there is always something to run.
	unseen = 10 * time.Millisecond
	// rateTime is over how long reads are counted for that.
	rateTime = 20 * time.Millisecond
)

// A loop reads connections in a goroutine, each once when epoll reports it
// (edge-triggered), and then the next one, so that none can keep the others waiting.
type loop struct {
	ep    int // its own epoll
	gate  gate
	ended chan struct{}

	mu      sync.Mutex
	mail    mail
	asleep  bool // it waits, and has to be woken
	closing bool

	// The goroutine's.
	conns  []*Conn // by slot
	free   []int
	again  []*Conn // with more to do
	spare  []*Conn
	scanAt time.Time
	reads  int // since from
	from   time.Time
	pause  time.Duration // 0: it waits for what comes
	rested time.Time     // when it last did either, or the monitor was woken
}

// mail is what other goroutines have for a loop.
type mail struct {
	added []*Conn
	moved []*Conn // their deadlines were set
}

// never is when nothing is waited for.
const never = 365 * 24 * time.Hour

func newLoop() (*loop, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	l := &loop{ep: ep, ended: make(chan struct{})}
	if err := l.gate.open(ep); err != nil {
		unix.Close(ep)
		return nil, err
	}
	return l, nil
}

// add gives the loop a connection. It reports false after stop.
func (l *loop) add(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return false
	}
	l.mail.added = append(l.mail.added, c)
	l.wake()
	return true
}

// moved says that the deadline of c was set.
func (l *loop) moved(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mail.moved = append(l.mail.moved, c)
	l.wake()
}

// stop ends the loop and waits for that.
func (l *loop) stop() {
	l.mu.Lock()
	l.closing = true
	l.wake()
	l.mu.Unlock()
	<-l.ended
}

// wake is called with the lock held.
func (l *loop) wake() {
	if l.asleep {
		l.asleep = false
		l.gate.interrupt()
	}
}

func (l *loop) run() {
	defer close(l.ended)
	defer l.close()
	l.scanAt = time.Now().Add(never)
	var m mail // what is empty in it is used again
	for {
		l.mu.Lock()
		m.added, l.mail.added = l.mail.added, m.added[:0]
		m.moved, l.mail.moved = l.mail.moved, m.moved[:0]
		closing := l.closing
		l.mu.Unlock()
		now := time.Now()
		for _, c := range m.added {
			l.admit(c)
		}
		for _, c := range m.moved {
			l.due(c, now)
		}
		clear(m.added)
		clear(m.moved)
		if closing {
			return
		}
		if !now.Before(l.scanAt) {
			l.scan(now)
		}
		n := l.work()
		l.note(n, now)
		switch {
		case n == eventsAtOnce || len(l.again) > 0:
			if now.Sub(l.rested) > unseen {
				sys.WakeMonitor()
				l.rested = now
			}
			runtime.Gosched()
			continue
		case l.pause > 0:
			l.gate.pause(l.pause)
		default:
			l.sleep()
		}
		l.rested = time.Now()
	}
}

// work reads all connections that are ready, and goes on with those that have more to
// do. It returns how many are ready.
func (l *loop) work() int {
	list := l.again
	l.again, l.spare = l.spare[:0], list
	events := l.gate.next()
	for i := range events {
		e := &events[i]
		c := l.conns[e.Fd]
		if c == nil {
			continue // it has just been let go
		}
		c.unsure = c.unsure || e.Events&^unix.EPOLLIN != 0
		c.drained = false
		l.visit(c)
	}
	for _, c := range list {
		if c.slot != noSlot {
			c.again = false
			l.visit(c)
		}
	}
	clear(list)
	return len(events)
}

// visit lets the handler of c read once. drained is false when epoll has reported c since
// its socket was last empty.
func (l *loop) visit(c *Conn) {
	c.may = true
	switch v := c.handler.Ready(); {
	case v == Over:
		l.release(c)
	case (v == Again || !c.drained) && !c.again:
		c.again = true
		l.again = append(l.again, c)
	}
}

// admit begins to read c.
func (l *loop) admit(c *Conn) {
	slot := len(l.conns)
	if k := len(l.free) - 1; k >= 0 {
		slot, l.free = l.free[k], l.free[:k]
		l.conns[slot] = c
	} else {
		l.conns = append(l.conns, c)
	}
	c.slot, c.again, c.unsure, c.drained = slot, false, false, false
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(slot)}
	if unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, c.fd, &e) != nil {
		l.release(c)
		return
	}
	l.due(c, time.Now())
	if c.slot != noSlot {
		l.visit(c)
	}
}

// release gives c back to its goroutine.
func (l *loop) release(c *Conn) {
	_ = unix.EpollCtl(l.ep, unix.EPOLL_CTL_DEL, c.fd, nil)
	l.conns[c.slot] = nil
	l.free = append(l.free, c.slot)
	c.slot = noSlot
	c.over <- struct{}{}
}

// due calls the handler of c if its deadline has passed, or sees to it that it will be.
func (l *loop) due(c *Conn, now time.Time) {
	if c.slot == noSlot {
		return
	}
	at := c.deadline.Load()
	if at == 0 {
		return
	}
	if at <= int64(now.Sub(began)) {
		if c.handler.Late() == Over {
			l.release(c)
			return
		}
		at = max(c.deadline.Load(), int64(now.Add(lateBy).Sub(began)))
	}
	if next := began.Add(time.Duration(at)); next.Before(l.scanAt) {
		l.scanAt = next
	}
}

// scan looks at all deadlines.
func (l *loop) scan(now time.Time) {
	l.scanAt = now.Add(never)
	for _, c := range l.conns {
		if c != nil {
			l.due(c, now)
		}
	}
	if soon := now.Add(lateBy); l.scanAt.Before(soon) {
		l.scanAt = soon
	}
}

// note counts reads.
func (l *loop) note(n int, now time.Time) {
	l.reads += n
	if took := now.Sub(l.from); took >= rateTime {
		switch n := l.reads / int(took/time.Millisecond); {
		case n >= crowdedReads:
			l.pause = 2 * pause
		case n >= busyReads:
			l.pause = pause
		default:
			l.pause = 0
		}
		l.reads, l.from = 0, now
	}
}

// sleep waits until something has come, until the next scan, or until wake.
func (l *loop) sleep() {
	l.mu.Lock()
	if l.closing || len(l.mail.added)+len(l.mail.moved) > 0 {
		l.mu.Unlock()
		return
	}
	l.asleep = true
	l.gate.until(l.scanAt)
	l.mu.Unlock()
	l.gate.wait()
	l.mu.Lock()
	l.asleep = false
	l.mu.Unlock()
}

func (l *loop) close() {
	for _, c := range l.conns {
		if c != nil {
			l.release(c)
		}
	}
	l.gate.close()
	unix.Close(l.ep)
}
