package transport

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Options configure a Transport. Node, Run, Secret and Receive are required, and
// either Listen or URL.
type Options struct {
	Node   string
	Run    uint64 // larger than that of the node's earlier starts
	Secret []byte
	// Accept is another secret with which others may come, while theirs and this one's are
	// changed; nil for none.
	Accept []byte
	// Listen is the address for other nodes of the server in this process, and Join
	// those of others: one that lives is enough.
	Listen string
	Join   []string
	// URL is the address of NATS servers that are there already, with commas between
	// several; then there is none in this process.
	URL string
	// Prefix is the first part of the subjects; "sluice".
	Prefix string
	// Receive is called with each message from another node, one at a time. The body
	// is borrowed until it returns.
	Receive func(from string, body []byte)
	// Answer is called with the request of another node, several at a time, and returns
	// the answer, transferred. Both are the callee's. Without it there are no answers.
	Answer func(from string, body []byte) []byte
	Logger *slog.Logger // nil is slog.Default
	// Clock is for tests of clocks that differ; nil is time.Now.
	Clock func() time.Time
}

// keys returns the keys for one purpose: that of Secret, and that of Accept if there is one.
func (o *Options) keys(purpose string) [][]byte {
	keys := [][]byte{derive(o.Secret, purpose)}
	if len(o.Accept) > 0 {
		keys = append(keys, derive(o.Accept, purpose))
	}
	return keys
}

// maxPayload is the longest message.
const maxPayload = 1 << 20

// maxNode is the longest name of a node: the length is one byte.
const maxNode = 64

// ErrName: a node's name that cannot be a part of a subject.
var ErrName = errors.New("transport: a node's name has 1 to 64 letters, digits, - and _")

// CheckName returns an error that matches ErrName if a node cannot have this name.
func CheckName(name string) error {
	ok := name != "" && len(name) <= maxNode && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
	if !ok {
		return fmt.Errorf("%w: %.80q", ErrName, name)
	}
	return nil
}

// A Transport is one node's connection to the others.
type Transport struct {
	options  Options
	engine   *engine // nil: an outside NATS
	conn     *nats.Conn
	sealer   sealer
	opener   opener
	one      sync.Mutex // held while Receive runs
	requests requests
	outbox   *outbox

	connected               atomic.Bool // to NATS
	sent, received, refused atomic.Int64
	lastRefusal, lastError  atomic.Pointer[Fault]
}

// Open starts the server in this process, or connects to one. With an outside NATS
// that is away, or refuses this node, it succeeds, and connects when that changes.
func Open(o Options) (*Transport, error) {
	if err := CheckName(o.Node); err != nil {
		return nil, err
	}
	if len(o.Secret) == 0 || o.Receive == nil || (o.Listen == "") == (o.URL == "") {
		panic("transport: Open without a secret or a receiver, or not with one of Listen and URL")
	}
	o.Prefix = cmp.Or(o.Prefix, "sluice")
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Clock == nil {
		o.Clock = time.Now
	}
	keys := o.keys("messages")
	t := &Transport{options: o, outbox: newOutbox(), sealer: sealer{key: keys[0], from: o.Node, run: o.Run}, opener: opener{keys: keys, nodes: map[string]*seen{}}}
	t.requests.init(&o)
	options := []nats.Option{
		nats.Name("sluice " + o.Node), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		nats.PingInterval(ping), nats.MaxPingsOutstanding(pingsOut), nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1), nats.NoEcho(),
		nats.Timeout(5 * time.Second), nats.IgnoreAuthErrorAbort(),
		nats.ConnectHandler(t.connects), nats.ReconnectHandler(t.connects),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			t.connected.Store(false)
			t.failed(err)
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { t.failed(err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { t.failed(err) }),
	}
	address := o.URL
	if o.URL == "" {
		var err error
		if t.engine, err = startEngine(&o, t.refuse); err != nil {
			return nil, err
		}
		options, address = append(options, nats.InProcessServer(t.engine.server), nats.UserInfo(client, t.engine.password)), ""
	}
	conn, err := nats.Connect(address, options...)
	if err == nil {
		t.conn = conn
		if t.engine != nil {
			t.connected.Store(true) // an outside one may be connecting, which would be waited for
		}
		for subject, receive := range map[string]func([]byte){
			o.Prefix + ".node.*":           func(m []byte) { t.receive("", m) },
			o.Prefix + ".ctl." + o.Node:    func(m []byte) { t.receive(o.Node, m) },
			o.Prefix + ".ask." + o.Node:    t.asked,
			o.Prefix + ".answer." + o.Node: t.answered,
		} {
			if _, err = conn.Subscribe(subject, func(m *nats.Msg) { receive(m.Data) }); err != nil {
				break
			}
		}
	}
	if err != nil {
		close(t.outbox.done)
		t.Close()
		return nil, fmt.Errorf("transport: connecting to %s: %w", redacted(o.URL), err)
	}
	go t.outbox.run(t.publish, func() { t.conn.FlushTimeout(time.Second) })
	return t, nil
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

// Close closes the connection and ends the server in this process.
func (t *Transport) Close() {
	t.requests.close()
	t.outbox.close()
	if t.conn != nil {
		t.Flush()
		t.conn.Close()
	}
	<-t.outbox.done
	if t.engine != nil {
		t.engine.close()
	}
}
