package aio

import (
	"net"
	"runtime"
	"sync"
	"time"
)

// stdLane is one direction of a connection. Its fields are guarded by std.mu
// unless they say otherwise.
type stdLane struct {
	conn  *stdConn
	sends bool // writes; set once

	head, tail *stdOp
	queued     int // bytes of pending writes that are not written
	held       int // memory of pending writes, as QueueLimit counts it
	running    bool
	flight     []*stdOp // what is being carried out: one read, or the writes of one gather
	poked      bool     // the call was interrupted for an operation that is to end
	alone      bool     // one write at a time: a gather took too long

	// What belongs to the goroutine of the lane.
	looked   bool // look has been called
	messages bool // each Read is a datagram
	stream   bool // a plain socket of bytes: it gathers, and takes any deadline without harm
	joins    bool // several writes may go out in one call
	most     int  // bytes that one read into memory of the watcher takes at most
	room     int  // what the next one takes
	gather   *stdGather
	landed   []*stdOp // scratch of land

	// setting is held while a deadline is set, so that one that interrupts meets
	// the call that it is meant for, and not the next.
	setting sync.Mutex
	set     time.Time // the connection's deadline; guarded by setting
	wasSet  bool      // before, it is whatever the program has left behind
}

// keeps counts n bytes more of memory that pending writes hold.
func (l *stdLane) keeps(n int) {
	l.held += n
	l.conn.std.count.QueuedHeld += int64(n)
}

func (l *stdLane) pushBack(op *stdOp) {
	op.state = opQueued
	op.prev, op.next = l.tail, nil
	if l.tail != nil {
		l.tail.next = op
	} else {
		l.head = op
	}
	l.tail = op
}

func (l *stdLane) pushFront(op *stdOp) {
	op.state = opQueued
	op.prev, op.next = nil, l.head
	if l.head != nil {
		l.head.prev = op
	} else {
		l.tail = op
	}
	l.head = op
}

func (l *stdLane) remove(op *stdOp) {
	if op.prev != nil {
		op.prev.next = op.next
	} else {
		l.head = op.next
	}
	if op.next != nil {
		op.next.prev = op.prev
	} else {
		l.tail = op.prev
	}
	op.prev, op.next = nil, nil
}

// board takes the first operation out of the queue to carry it out.
func (l *stdLane) board() *stdOp {
	op := l.head
	l.remove(op)
	l.conn.std.unhold(op)
	op.state = opFlying
	if op.err == nil {
		// The connection may have been closed since the lane looked.
		op.err = l.over()
	}
	l.flight = append(l.flight, op)
	return op
}

// stdKeep is how long the lists of a lane may be and be kept for its next goroutine.
const stdKeep = 16

// run is the goroutine of the lane.
func (l *stdLane) run() {
	s := l.conn.std
	l.look()
	s.mu.Lock()
	for clean := false; ; {
		if len(l.flight) == 0 {
			if err := l.over(); err != nil {
				for l.head != nil {
					op := l.head
					l.remove(op)
					s.complete(op, err)
				}
			}
			if l.head != nil && passed(l.head.deadline) {
				l.dropExpired(time.Now())
			}
			if l.head == nil {
				if clean || l.conn.ending != nil {
					break
				}
				// An operation without a deadline, or the program itself, is
				// not to meet the one of an operation before.
				s.mu.Unlock()
				l.reset()
				s.mu.Lock()
				clean = true
				continue
			}
		}
		clean = false
		if l.sends {
			l.write()
		} else {
			l.read()
		}
	}
	l.running = false
	if cap(l.flight) > stdKeep || l.gather != nil && cap(l.gather.room) > stdKeep {
		l.flight, l.gather, l.landed = nil, nil, nil
	}
	s.settle(l.conn)
	s.exit()
	s.mu.Unlock()
}

// dropExpired completes what is queued with a deadline that has passed: all of it
// together, so that one wait returns it.
func (l *stdLane) dropExpired(now time.Time) {
	var ended []*stdOp
	for op := l.head; op != nil; {
		next := op.next
		if !op.deadline.IsZero() && !now.Before(op.deadline) {
			l.remove(op)
			op.state = opEnded
			ended = append(ended, op)
		}
		op = next
	}
	for _, op := range ended {
		l.conn.std.complete(op, ErrDeadline)
	}
}

// over says why nothing in the queue will be carried out any more.
func (l *stdLane) over() error {
	if l.conn.ending == nil && !l.sends && l.conn.std.state != stdOpen {
		return ErrWatcherClosed
	}
	return l.conn.ending
}

// look finds out what the connection is. Its methods may be the program's.
func (l *stdLane) look() {
	if l.looked {
		return
	}
	l.looked = true
	network := ""
	if a := l.conn.conn.LocalAddr(); a != nil {
		network = a.Network()
	}
	size := l.conn.std.options.BufferSize
	switch network {
	case "udp", "udp4", "udp6", "unixgram", "unixpacket", "ip", "ip4", "ip6":
		l.messages, l.most, l.room = true, size, size
		return
	}
	// Exactly these types: a struct that embeds one has methods of its own.
	switch l.conn.conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		l.stream, l.most = true, size
		// Windows does not say how much of a call was sent that is cut short, and
		// a call for several writes may have to be: see gatherPatience.
		l.joins = runtime.GOOS != "windows"
	default:
		l.most = min(size, stdMostHeld)
	}
	l.room = min(size, stdLeast)
}

// arm sets the connection's deadline for the next call, and reports whether
// that is still to be made: nothing in flight has been ended.
func (l *stdLane) arm(until time.Time) bool {
	l.setting.Lock()
	defer l.setting.Unlock()
	s := l.conn.std
	s.mu.Lock()
	for _, op := range l.flight {
		if op.err != nil {
			s.mu.Unlock()
			return false
		}
	}
	l.poked = false
	s.mu.Unlock()
	l.setDeadline(until)
	return true
}

// reset takes the deadline away that the lane has set.
func (l *stdLane) reset() {
	l.setting.Lock()
	l.setDeadline(time.Time{})
	l.setting.Unlock()
}

// poke interrupts the call that op is in, if it still is.
func (l *stdLane) poke(op *stdOp) {
	l.setting.Lock()
	defer l.setting.Unlock()
	s := l.conn.std
	s.mu.Lock()
	hit := op.state == opFlying && op.err != nil
	if hit {
		l.poked = true
	}
	s.mu.Unlock()
	if hit {
		l.setDeadline(time.Unix(1, 0))
	}
}

// setDeadline is called with setting held. A connection may refuse: then its
// calls are not interrupted, see std.
func (l *stdLane) setDeadline(t time.Time) {
	if l.wasSet && t.Equal(l.set) {
		return
	}
	if l.sends {
		l.conn.conn.SetWriteDeadline(t)
	} else {
		l.conn.conn.SetReadDeadline(t)
	}
	l.set, l.wasSet = t, true
}

// passed says that there is a deadline and that it is over.
func passed(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}
