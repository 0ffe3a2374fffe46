//go:build unix && !aix && !solaris && !illumos

package poller

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Poller watches descriptors, and lets one goroutine sleep until one is ready. The
// descriptor of epoll or kqueue is itself one that can be waited for, so it is
// registered with Go's own poller, and the sleeper parks like any goroutine that
// reads from a connection. A wake-up, and the next deadline, are the read deadline
// of that descriptor: neither is a system call.
//
// Sleep and Ask, Poll within their callbacks, and Event are for one goroutine at a time. Add, WatchWrites, Remove,
// Park, Arm, Wake and Awake are guarded by a lock of the owner's, and not called
// after Close.
type Poller struct {
	queue
	file   *os.File
	raw    syscall.RawConn
	start  time.Time
	parked bool  // the sleeper sleeps, or is about to
	armed  int64 // when the sleeper wakes by itself: 0 never, or past
}

// past is the value of armed when the deadline of file lies in the past.
const past = -1

// Open returns a Poller. Deadlines are given to it in nanoseconds since start.
func Open(start time.Time) (*Poller, error) {
	p := &Poller{start: start}
	var err error
	if p.file, err = p.open(); err != nil {
		return nil, err
	}
	if p.raw, err = p.file.SyscallConn(); err == nil {
		// A descriptor that Go's poller does not take has no deadlines.
		err = p.file.SetReadDeadline(time.Time{})
	}
	if err != nil {
		_ = p.file.Close()
		return nil, err
	}
	return p, nil
}

// Close ends a sleep and the Poller.
func (p *Poller) Close() { _ = p.file.Close() }

// Sleep calls look until it returns true: at once, and whenever something is ready
// then. look has to Poll before it returns false: an edge that came before is not
// reported again. Sleep returns late when the deadline passed or Wake was called;
// look has not been called since then.
func (p *Poller) Sleep(look func(fd uintptr) bool) (late bool, err error) {
	err = p.raw.Read(look)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return true, nil
	}
	return false, err
}

// Ask calls f, which may Poll, without sleeping. The error says that p is closed, and
// f was not called.
func (p *Poller) Ask(f func(fd uintptr)) error { return p.raw.Control(f) }

// Park says that the sleeper is about to sleep: from now on Wake has an effect.
func (p *Poller) Park() { p.parked = true }

// Awake says that the sleeper is not asleep any more; late is what Sleep returned.
func (p *Poller) Awake(late bool) {
	p.parked = false
	if late {
		p.armed = past
	}
}

// Arm has the sleeper wake at next; 0 is never.
func (p *Poller) Arm(next int64) {
	if next == p.armed {
		return
	}
	p.armed = next
	var t time.Time
	if next != 0 {
		t = p.start.Add(time.Duration(next))
	}
	// The error of a file that was closed meanwhile is met by the next Sleep.
	_ = p.file.SetReadDeadline(t)
}

// ArmAsleep is Arm for another goroutine than the sleeper, who does it anyway before
// it sleeps.
func (p *Poller) ArmAsleep(next int64) {
	if p.parked && p.armed != past {
		p.Arm(next)
	}
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// Wake ends the sleep, if there is one.
func (p *Poller) Wake() {
	if p.parked && p.armed != past {
		p.armed = past
		_ = p.file.SetReadDeadline(longAgo)
	}
}
