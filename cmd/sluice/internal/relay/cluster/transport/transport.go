package transport

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// A Transport is one node's connection to the others.
type Transport struct {
	options Options
	engine  *engine // nil: an outside NATS
	conn    *nats.Conn
	// disconnect ends a connection that is being made, or is there, to an outside NATS.
	disconnect func()

	sealer   sealer
	opener   opener
	one      sync.Mutex // held while Receive runs
	requests requests
	outbox   *outbox

	connected               atomic.Bool // to NATS
	sent, received, refused atomic.Int64
	lastRefusal, lastError  atomic.Pointer[Fault]
}

// redacted returns addresses without users and passwords.
func redacted(addresses string) string {
	var list []string
	for address := range strings.SplitSeq(addresses, ",") {
		u, err := url.Parse(address)
		if err != nil {
			list = append(list, "an address that is not a URL")
			continue
		}
		list = append(list, u.Scheme+"://"+u.Host)
	}
	return strings.Join(list, ",")
}

func (t *Transport) receive(to string, data []byte) {
	from, body, err := t.opener.open(to, data, t.options.Clock())
	if err != nil {
		t.refuse(err)
		return
	}
	t.received.Add(int64(len(data)))
	t.one.Lock()
	defer t.one.Unlock()
	t.options.Receive(from, body)
}

// refuse counts a message that is not taken.
func (t *Transport) refuse(err error) {
	t.refused.Add(1)
	t.lastRefusal.Store(&Fault{time.Now(), err})
	t.options.Logger.Debug("a message of the cluster was refused", "error", err)
}

// connects notes that NATS is there, whatever has failed before.
func (t *Transport) connects(*nats.Conn) {
	t.lastError.Store(nil)
	t.connected.Store(true)
}

// failed notes why NATS cannot be reached, or does not do what it is asked for. What it has
// said before is not logged again.
func (t *Transport) failed(err error) {
	if err == nil {
		return
	}
	was := t.lastError.Swap(&Fault{time.Now(), err})
	if was == nil || was.Err.Error() != err.Error() {
		t.options.Logger.Warn("NATS", "error", err)
	}
}

// publish gives a message to NATS. One that cannot be sent now is lost.
func (t *Transport) publish(m outgoing) {
	if err := t.conn.Publish(m.subject, m.data); err != nil {
		t.options.Logger.Debug("cannot send to the cluster", "error", err)
		return
	}
	t.sent.Add(int64(len(m.data)))
}

// Send sends body, borrowed, to the node to, or to all when that is empty. It does not
// wait. A message that cannot be sent now is lost.
func (t *Transport) Send(to string, body []byte) error {
	subject := t.options.Prefix + ".node." + t.options.Node
	if to != "" {
		subject = t.options.Prefix + ".ctl." + to
	}
	m := t.sealer.seal(to, body, t.options.Clock())
	if len(m) > maxPayload {
		return fmt.Errorf("transport: a message of %d bytes, the limit is %d", len(m), maxPayload)
	}
	return t.outbox.put(outgoing{subject: subject, data: m})
}

// Connected reports whether messages can come. That other nodes can be reached is
// seen by their messages alone.
func (t *Transport) Connected() bool { return t.connected.Load() }

// Links returns how many connections to other nodes or to NATS there are now.
func (t *Transport) Links() int {
	if t.engine != nil {
		return t.engine.server.NumRoutes()
	}
	if t.Connected() {
		return 1
	}
	return 0
}

// Routes returns the names of the nodes that the server in this process is connected to;
// none with an outside NATS.
func (t *Transport) Routes() (nodes []string) {
	if t.engine != nil {
		nodes = t.engine.routes()
	}
	return nodes
}

// Address returns where other nodes join; empty with an outside NATS.
func (t *Transport) Address() string {
	if t.engine == nil {
		return ""
	}
	return t.engine.address()
}

// A Fault is when and why something failed; the zero Fault is none.
type Fault struct {
	At  time.Time
	Err error
}

// Stats are a Transport's figures since it was opened.
type Stats struct {
	Sent, Received int64 // bytes
	Refused        int64 // messages
	LastRefusal    Fault
	LastError      Fault // of NATS
}

// Stats returns the figures.
func (t *Transport) Stats() Stats {
	s := Stats{Sent: t.sent.Load(), Received: t.received.Load(), Refused: t.refused.Load()}
	if f := t.lastRefusal.Load(); f != nil {
		s.LastRefusal = *f
	}
	if f := t.lastError.Load(); f != nil {
		s.LastError = *f
	}
	return s
}

// Flush waits until what was sent has left this process, at most a second.
func (t *Transport) Flush() { t.outbox.flush(time.Second) }

// requests are those of one node, and its answers to those of others. They have a key
// and numbers of their own: no message of theirs can stand for one of Send.
type requests struct {
	sealer sealer
	opener opener
	slots  chan struct{}
	ending sync.WaitGroup // answers that are made

	mu      sync.Mutex
	closed  bool
	last    uint64
	waiting map[uint64]*waiting
}

func (r *requests) init(o *Options) {
	keys := o.keys("requests")
	r.sealer = sealer{key: keys[0], from: o.Node, run: o.Run}
	r.opener = opener{keys: keys, nodes: map[string]*seen{}}
	r.slots = make(chan struct{}, answering)
	r.last = uint64(time.Now().UnixNano()) // an answer to an earlier run is not taken
	r.waiting = map[uint64]*waiting{}
}

// close lets the answers that are being made end, and makes no more.
func (r *requests) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.ending.Wait()
}

// waiting is a request that has no answer yet.
type waiting struct {
	node  string
	parts [][]byte
	left  int
	done  chan struct{}
	err   error
}

// answering is how many requests of others a node answers at the same time.
const answering = 8
