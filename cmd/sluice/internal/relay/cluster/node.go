package cluster

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/directory"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/transport"
)

// tick is the time between looks at what is due.
const tick = 100 * time.Millisecond

// Options configure a Node. Name, Secret and Policy are required, and one of Listen and
// NATS.
type Options struct {
	Name    string
	Secret  []byte
	Accept  []byte // another secret with which nodes may come, while it is changed; nil for none
	Policy  directory.Policy
	Of      func(stream string) directory.Policy // of one stream; nil: Policy. It must not wait.
	Listen  string                               // address of the engine in this process, for other nodes
	Join    []string                             // those of others
	NATS    string                               // URL of one that is there already
	Version string                               // of the program
	// Changed is called with each event, in their order, on a goroutine of its own.
	Changed func(directory.Event)
	// Measure is called each second, without a lock: it returns what this node says
	// of itself, and calls figures for each stream.
	Measure func(figures func(stream string, bitrate int64, viewers int)) directory.Node
	// Answer is called with each request of another node, several at a time; nil refuses
	// all.
	Answer func(from string, r Request) Answer
	Logger *slog.Logger // nil is slog.Default
	// Clock is for tests of clocks that differ; nil is time.Now.
	Clock func() time.Time
	// Direct is for tests with few nodes: directory.Options.Direct.
	Direct int
}

// A Node is this server in a cluster.
type Node struct {
	options   Options
	grants    [][]byte // keys: its own, and one more that is accepted
	transport *transport.Transport
	running   sync.WaitGroup
	end       context.CancelFunc

	mu       sync.Mutex
	dir      *directory.Directory
	url      string
	draining bool
	placed   [2]map[string]int          // viewers that were sent to nodes, this second and the last
	sent     int                        // viewers that were sent to nodes, in all
	latest   time.Time                  // when the latest of them was
	open     bool                       // messages can be sent
	failed   map[string]transport.Fault // why nodes could not be pulled from, the latest
	events   []directory.Event
	wake     chan struct{} // has a value when there are events
}

// Open joins the cluster. url is where other nodes pull from.
func Open(o Options, url string) (*Node, error) {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Clock == nil {
		o.Clock = time.Now
	}
	run := uint64(o.Clock().UnixNano())
	grants := [][]byte{grantKey(o.Secret)}
	if len(o.Accept) > 0 {
		grants = append(grants, grantKey(o.Accept))
	}
	n := &Node{
		placed:  [2]map[string]int{{}, {}},
		failed:  map[string]transport.Fault{},
		options: o, grants: grants, url: url, wake: make(chan struct{}, 1),
		dir: directory.New(directory.Options{Node: o.Name, Run: run, Policy: o.Policy, Of: o.Of, Direct: o.Direct}),
	}
	n.dir.SetNode(time.Now(), directory.Node{URL: url, Version: o.Version})
	var err error
	n.transport, err = transport.Open(transport.Options{
		Node: o.Name, Run: run, Secret: o.Secret, Accept: o.Accept, Listen: o.Listen, Join: o.Join, URL: o.NATS, Receive: n.receive, Answer: n.answer, Logger: o.Logger, Clock: o.Clock,
	})
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	var ctx context.Context
	ctx, n.end = context.WithCancel(context.Background())
	n.do(func(*directory.Directory) { n.open = true })
	n.running.Go(func() { n.run(ctx) })
	n.running.Go(func() { n.report(ctx) })
	return n, nil
}

// do calls f with the directory, and sends what that has to say.
func (n *Node) do(f func(*directory.Directory)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.dir)
	if !n.open {
		return
	}
	out, events := n.dir.Take()
	for i := range out {
		if err := n.transport.Send(out[i].To, out[i].Append(nil)); err != nil {
			n.options.Logger.Debug("cannot send to the cluster", "error", err)
		}
	}
	for _, e := range events {
		if e.Joined || e.Left {
			delete(n.failed, e.Node)
		}
	}
	if len(events) > 0 {
		n.events = append(n.events, events...)
		select {
		case n.wake <- struct{}{}:
		default:
		}
	}
}

func (n *Node) receive(from string, body []byte) {
	m, err := directory.Parse(body)
	if err != nil || m.From != from {
		n.options.Logger.Warn("a message of the cluster cannot be read", "from", from, "error", err)
		return
	}
	n.do(func(d *directory.Directory) { d.Receive(time.Now(), m) })
}

// run does what is due, until ctx is done.
func (n *Node) run(ctx context.Context) {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	links, measured := 0, time.Time{}
	look := newLookout(n)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		now := time.Now()
		if n.options.Measure != nil && now.Sub(measured) >= time.Second {
			measured = now
			n.measure(now)
		}
		connected := n.transport.Connected()
		more := n.transport.Links()
		look.out(ctx, now, more != links)
		n.do(func(d *directory.Directory) {
			if more > links {
				d.Hurry(now) // to those who were out of reach
			}
			d.Tick(now, connected)
		})
		links = more
	}
}

func (n *Node) measure(now time.Time) {
	type figures struct {
		bitrate int64
		viewers int
	}
	all := map[string]figures{}
	self := n.options.Measure(func(stream string, bitrate int64, viewers int) { all[stream] = figures{bitrate, viewers} })
	n.do(func(d *directory.Directory) {
		n.placed = [2]map[string]int{{}, n.placed[0]}
		self.URL, self.Draining, self.Version = n.url, n.draining, n.options.Version
		d.SetNode(now, self)
		for stream, f := range all {
			d.SetFigures(stream, f.bitrate, f.viewers)
		}
	})
}

// report calls Changed.
func (n *Node) report(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		n.mu.Lock()
		events := n.events
		n.events = nil
		n.mu.Unlock()
		for _, e := range events {
			if n.options.Changed != nil {
				n.options.Changed(e)
			}
		}
	}
}

// Name returns this node's name.
func (n *Node) Name() string { return n.options.Name }

// Address returns where other nodes join; empty with an outside NATS.
func (n *Node) Address() string { return n.transport.Address() }

// Publish enters a publication on this node and returns its epoch. winner is the node
// that has the stream: when that is another, this node's publication does not count.
// With Refuse nothing is entered then, and ok is false.
func (n *Node) Publish(stream, publisher string) (epoch uint64, winner string, ok bool) {
	n.do(func(d *directory.Directory) {
		var r directory.Rank
		epoch, r, ok = d.Publish(stream, publisher)
		winner = r.Node
	})
	return epoch, winner, ok
}

// Lost reports whether another node's publication of a stream wins over this node's.
func (n *Node) Lost(stream string) (winner string, lost bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dir.Lost(stream)
}

// Held returns the epoch of this node's publication of a stream, and whether it has to
// wait for another's.
func (n *Node) Held(stream string) (epoch uint64, held, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dir.Held(stream)
}

// SetActive says whether viewers get this node's publication with that epoch.
func (n *Node) SetActive(stream string, epoch uint64, on bool) {
	n.do(func(d *directory.Directory) { d.SetActive(stream, epoch, on) })
}

// Yield puts this node's publication behind those of other nodes, if there are any, and
// returns its new epoch.
func (n *Node) Yield(stream string, epoch uint64) (next uint64, ok bool) {
	n.do(func(d *directory.Directory) { next, ok = d.Yield(stream, epoch) })
	return next, ok
}

// Remove removes the publication of a stream with that epoch.
func (n *Node) Remove(stream string, epoch uint64) {
	n.do(func(d *directory.Directory) { d.Remove(stream, epoch) })
}

// Copy enters that this node pulls a stream from another that has it at the level.
func (n *Node) Copy(stream string, epoch uint64, level int, from string) {
	n.do(func(d *directory.Directory) {
		delete(n.failed, from)
		d.Copy(stream, epoch, level, from)
	})
}

// Failed notes why another node could not be pulled from.
func (n *Node) Failed(node string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failed[node] = transport.Fault{At: time.Now(), Err: err}
}

// NoCopy enters that this node does not pull a stream any more.
func (n *Node) NoCopy(stream string) {
	n.do(func(d *directory.Directory) { d.Remove(stream, 0) })
}

// Nodes returns the nodes that this one knows, itself included, by name.
func (n *Node) Nodes() []directory.NodeStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dir.Nodes(time.Now())
}

// Has returns the node that publishes a stream; empty when none does.
func (n *Node) Has(stream string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, _ := n.dir.Winner(stream)
	return r.Node
}

// From returns the node from which this one pulls a stream; empty when it does not.
func (n *Node) From(stream string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.dir.Holdings(stream) {
		if h.Node == n.options.Name && h.Level > 0 {
			return h.From
		}
	}
	return ""
}

// Sources returns where this node can pull a stream from, the best first.
func (n *Node) Sources(stream string) (list []directory.Source) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dir.Sources(stream)
}

// Quiet reports whether another node was heard a moment ago, and says that next to nothing comes
// of a stream.
func (n *Node) Quiet(stream, node string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dir.Quiet(time.Now(), stream, node, quiet)
}

// Grant returns the query that lets this node have a stream from another, for the
// next 30 s.
func (n *Node) Grant(stream, to string) url.Values {
	return grant(n.grants[0], stream, n.options.Name, to, n.options.Clock())
}

// Granted returns the node that a request is from. An error matches ErrGrant.
func (n *Node) Granted(stream string, q url.Values) (from string, err error) {
	return checkGrant(n.grants, q, stream, n.options.Name, n.options.Clock())
}

// Leaving reports whether this node pulls a stream from one that drains or is too far from the
// publisher's, and need not.
func (n *Node) Leaving(stream string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dir.Leaving(stream)
}

// Needed returns how many streams other nodes get from this one although there is
// another that has them, or will have them at its next key frame.
func (n *Node) Needed() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dir.Needed()
}

// Others returns how many other nodes there are.
func (n *Node) Others() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.dir.Nodes(time.Now())) - 1
}

// Drain takes this node out of the others' choice.
func (n *Node) Drain() {
	n.do(func(d *directory.Directory) {
		n.draining = true
		d.SetNode(time.Now(), directory.Node{URL: n.url, Draining: true, Version: n.options.Version})
	})
	n.transport.Flush()
}

// Connected reports whether there is NATS. Without it, what is known of other nodes is old.
func (n *Node) Connected() bool { return n.transport.Connected() }

// Draining reports whether Drain was called.
func (n *Node) Draining() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.draining
}

// Joined reports whether this node knows another, and all that those have that it knows.
func (n *Node) Joined() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dir.Complete()
}

// Close leaves the cluster.
func (n *Node) Close() {
	n.end()
	n.running.Wait()
	n.do(func(d *directory.Directory) { d.Leave() })
	n.transport.Flush()
	n.transport.Close()
}
