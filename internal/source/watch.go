package source

import (
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// A reader that waits for memory is not inside its connection's Read, and does
// not see there that the connection was closed or that its read deadline has
// passed. No event reports that to other goroutines. So one goroutine polls all
// connections whose readers wait for memory, without consuming any bytes.
const (
	// lookEvery is how long after its end at the latest such a wait should end:
	// half of the millisecond that is promised.
	lookEvery = 500 * time.Microsecond
	// looksAtOnce bounds what looking costs: a look takes about 25 ns
	// (BenchmarkLook) and its locks as much again, so 256 of them in lookEvery
	// 3 in 100 of one processor. With more connections each is looked at less
	// often.
	looksAtOnce = 256
)

// A Watch is one connection that is looked at while its reader waits for
// memory. The zero Watch is ready for Start, always with the same connection.
// It belongs to the reader.
type Watch struct {
	known  bool            // raw and conn are set
	raw    syscall.RawConn // nil without a descriptor
	report chan<- error    // nil while it is not in the list
	slot   int             // place in the list
	start  uint64          // number of this Start
	conn   net.Conn        // what to probe without one
	probe  *probe          // for a connection without a descriptor
	// looking is held during a look. Without it the reader's own Read could
	// begin before the look has ended; the look would wait for that Read, and
	// all other connections with it.
	looking sync.Mutex
}

var watches struct {
	mu      sync.Mutex
	list    []*Watch
	next    int
	running bool
}

// Start polls r until Stop. When r's Read would fail at once, the error is sent
// to report, once and without waiting. A source with neither a descriptor nor
// deadlines is not polled.
func (w *Watch) Start(r io.Reader, report chan<- error) {
	if !w.known {
		w.known = true
		w.raw, w.conn = below(r)
	}
	if w.raw == nil {
		if w.conn != nil {
			if w.probe == nil {
				w.probe = &probe{r: w.conn}
			}
			w.probe.start(report)
		}
		return
	}
	watches.mu.Lock()
	defer watches.mu.Unlock()
	w.report, w.slot = report, len(watches.list)
	w.start++
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
	w.looking.Lock() // when a look that has begun has ended
	defer w.looking.Unlock()
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

// look polls the watched connections in a loop until there are none.
func look() {
	tick := newTicks(lookEvery)
	defer tick.stop()
	for {
		tick.wait()
		for range min(looksAtOnce, watched()) {
			w, raw, start := nextWatch()
			if w == nil {
				break
			}
			// A read that asks for nothing: the poller refuses it after a
			// deadline and on a closed descriptor.
			err := raw.Read(func(uintptr) bool { return true })
			w.looking.Unlock()
			if err != nil {
				w.tell(start, err)
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

// nextWatch returns the next connection to look at, round robin, with its
// looking held.
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
	w.looking.Lock()
	return w, w.raw, w.start
}

// tell sends err to the report channel if that Start has not been stopped.
func (w *Watch) tell(start uint64, err error) {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if w.report == nil || w.start != start {
		return
	}
	select {
	case w.report <- err:
	default:
	}
	w.remove()
}
