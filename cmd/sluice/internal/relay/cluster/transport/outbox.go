package transport

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// errFull: more messages wait than may.
var errFull = errors.New("transport: NATS takes messages too slowly")

// maxWaiting is how many bytes of messages may wait for NATS: a node's whole list goes to
// each node that asks.
const maxWaiting = 64 << 20

// An outbox passes messages on in their order, on a goroutine of its own. The client of NATS
// holds a lock while it connects, which takes seconds with a server that is silent, and what
// sends a message must not wait for that.
type outbox struct {
	waiting atomic.Int64 // bytes
	mu      sync.Mutex
	queue   []outgoing
	closed  bool
	wake    chan struct{} // has a value when there is something to do
	done    chan struct{} // closed when run has returned
}

// outgoing is a message, or with flushed the request to say when all before it have left.
type outgoing struct {
	subject string
	data    []byte
	flushed chan struct{}
}

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// put adds a message, transferred.
func (o *outbox) put(m outgoing) error {
	if o.waiting.Load() > maxWaiting {
		return errFull
	}
	o.mu.Lock()
	o.waiting.Add(int64(len(m.data)))
	o.queue = append(o.queue, m)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// run sends until close. send and flush may take long.
func (o *outbox) run(send func(outgoing), flush func()) {
	defer close(o.done)
	for range o.wake {
		o.mu.Lock()
		queue, closed := o.queue, o.closed
		o.queue = nil
		o.mu.Unlock()
		for _, m := range queue {
			if m.flushed != nil {
				flush()
				close(m.flushed)
				continue
			}
			send(m)
			o.waiting.Add(-int64(len(m.data)))
		}
		if closed {
			return
		}
	}
}

// flush waits until all that was put has left, at most for a time.
func (o *outbox) flush(within time.Duration) {
	flushed := make(chan struct{})
	if o.put(outgoing{flushed: flushed}) != nil {
		return
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-flushed:
	case <-o.done:
	case <-late.C:
	}
}

// close ends run, when it has sent what there is.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}
