package source

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A reader that waits for memory is not inside its connection's Read, and does
// not see there that the connection was closed or that its read deadline has
// passed. No event tells others of that. So connections whose readers wait for
// memory are looked at by one goroutine for all, now and then, in a way that
// reads nothing.
const (
	// lookEvery is how long after its end at the latest such a wait should end:
	// half of the millisecond that is promised.
	lookEvery = 500 * time.Microsecond
	// looksAtOnce bounds what looking costs: a look takes about 100 ns, so 256
	// of them in lookEvery 5 in 100 of one processor. With more connections
	// each is looked at less often.
	looksAtOnce = 256
)

// A Watch is one connection that is looked at while its reader waits for
// memory. The zero Watch is ready for Start. It belongs to the reader.
type Watch struct {
	of     io.Reader       // what raw is of
	raw    syscall.RawConn // nil without a descriptor
	report chan<- error    // nil while it is not in the list
	slot   int             // place in the list
	turn   uint64          // number of this Start
	probe  *probe          // for a connection without a descriptor
}

var watches struct {
	mu      sync.Mutex
	list    []*Watch
	next    int
	running bool
}

// Start has r looked at until Stop, and the error with which its Read would
// fail at once sent to report, once and without waiting. What has neither a
// descriptor nor deadlines is not looked at.
func (w *Watch) Start(r io.Reader, report chan<- error) {
	if w.of != r {
		w.of, w.raw = r, descriptor(r)
	}
	if w.raw == nil {
		if c, ok := r.(net.Conn); ok {
			if w.probe == nil || w.probe.r != r {
				w.probe = &probe{r: c}
			}
			w.probe.start(report)
		}
		return
	}
	watches.mu.Lock()
	defer watches.mu.Unlock()
	w.report, w.slot = report, len(watches.list)
	w.turn++
	watches.list = append(watches.list, w)
	if !watches.running {
		watches.running = true
		go look()
	}
}

// Stop ends the watch. Nothing is sent after it returned.
func (w *Watch) Stop() {
	if w.probe != nil {
		w.probe.stop()
	}
	watches.mu.Lock()
	w.remove()
	watches.mu.Unlock()
}

// remove is called with the lock held.
func (w *Watch) remove() {
	if w.report == nil {
		return
	}
	last := len(watches.list) - 1
	moved := watches.list[last]
	watches.list[w.slot], moved.slot = moved, w.slot
	watches.list[last] = nil
	watches.list = watches.list[:last]
	w.report = nil
}

// look goes round until there is nothing to look at.
func look() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for range tick.C {
		for range min(looksAtOnce, watched()) {
			w, raw, turn := nextWatch()
			if w == nil {
				break
			}
			// A read that asks for nothing: the poller refuses it after a
			// deadline and on a closed descriptor.
			if err := raw.Read(func(uintptr) bool { return true }); err != nil {
				w.tell(turn, err)
			}
		}
		watches.mu.Lock()
		if len(watches.list) == 0 {
			watches.running, watches.list = false, nil
			watches.mu.Unlock()
			return
		}
		watches.mu.Unlock()
	}
}

func watched() int {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	return len(watches.list)
}

// nextWatch returns the next connection to look at, all in turn.
func nextWatch() (*Watch, syscall.RawConn, uint64) {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if len(watches.list) == 0 {
		return nil, nil, 0
	}
	if watches.next >= len(watches.list) {
		watches.next = 0
	}
	w := watches.list[watches.next]
	watches.next++
	return w, w.raw, w.turn
}

// tell reports err if the Start that turn is of has not been stopped.
func (w *Watch) tell(turn uint64, err error) {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if w.report == nil || w.turn != turn {
		return
	}
	select {
	case w.report <- err:
	default:
	}
	w.remove()
}

// descriptor returns that of r, or of what r is built on.
func descriptor(r io.Reader) syscall.RawConn {
	for range 8 { // wrappers in wrappers
		var c syscall.Conn
		switch r := r.(type) {
		case *net.TCPConn:
			c = r
		case *net.UnixConn:
			c = r
		case *os.File:
			c = r
		case RawReader:
			c = r.RawRead()
		case syscall.Conn:
			c = r
		}
		if c != nil {
			raw, err := c.SyscallConn()
			if err != nil {
				return nil
			}
			return raw
		}
		inner, ok := r.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		r = inner.NetConn()
	}
	return nil
}
