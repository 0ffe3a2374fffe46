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

	sent, received, refused atomic.Int64
	lastRefusal             atomic.Pointer[Refusal]
}

// Open starts the server in this process, or connects to one. With an outside NATS
// that is away it succeeds, and connects when that comes.
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
	key := derive(o.Secret, "messages")
	t := &Transport{options: o, sealer: sealer{key: key, from: o.Node, run: o.Run}, opener: opener{key: key, nodes: map[string]*seen{}}}
	t.requests.init(&o)
	options := []nats.Option{
		nats.Name("sluice " + o.Node), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		nats.PingInterval(ping), nats.MaxPingsOutstanding(pingsOut), nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1), nats.NoEcho(),
		nats.Timeout(5 * time.Second),
	}
	address := o.URL
	if o.URL == "" {
		var err error
		if t.engine, err = startEngine(&o); err != nil {
			return nil, err
		}
		options, address = append(options, nats.InProcessServer(t.engine.server), nats.UserInfo(client, t.engine.password)), ""
	}
	conn, err := nats.Connect(address, options...)
	if err == nil {
		t.conn = conn
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
		t.Close()
		return nil, fmt.Errorf("transport: connecting to %s: %w", redacted(o.URL), err)
	}
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
	t.lastRefusal.Store(&Refusal{time.Now(), err})
	t.options.Logger.Debug("a message of the cluster was refused", "error", err)
}

// Send sends body, borrowed, to the node to, or to all when that is empty. A message
// that cannot be sent now is lost.
func (t *Transport) Send(to string, body []byte) error {
	subject := t.options.Prefix + ".node." + t.options.Node
	if to != "" {
		subject = t.options.Prefix + ".ctl." + to
	}
	m := t.sealer.seal(to, body, t.options.Clock())
	if len(m) > maxPayload {
		return fmt.Errorf("transport: a message of %d bytes, the limit is %d", len(m), maxPayload)
	}
	t.sent.Add(int64(len(m)))
	return t.conn.Publish(subject, m)
}

// Connected reports whether messages can come. That other nodes can be reached is
// seen by their messages alone.
func (t *Transport) Connected() bool { return t.conn.IsConnected() }

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

// A Refusal is when and why a message was refused; the zero Refusal is none.
type Refusal struct {
	At  time.Time
	Err error
}

// Stats are a Transport's figures since it was opened.
type Stats struct {
	Sent, Received int64 // bytes
	Refused        int64 // messages
	LastRefusal    Refusal
}

// Stats returns the figures.
func (t *Transport) Stats() Stats {
	s := Stats{Sent: t.sent.Load(), Received: t.received.Load(), Refused: t.refused.Load()}
	if err := t.lastRefusal.Load(); err != nil {
		s.LastRefusal = *err
	}
	return s
}

// Flush waits until what was sent has left this process, at most a second.
func (t *Transport) Flush() { t.conn.FlushTimeout(time.Second) }

// Close closes the connection and ends the server in this process.
func (t *Transport) Close() {
	t.requests.close()
	if t.conn != nil {
		t.conn.Close()
	}
	if t.engine != nil {
		t.engine.close()
	}
}
