package pull

import (
	"bytes"
	"net/url"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/directory"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// Nodes says which nodes of a cluster have a stream, and gets to know what is pulled.
type Nodes interface {
	Sources(stream string) []directory.Source
	Grant(stream, to string) url.Values
	Copy(stream string, epoch uint64, level int, from string)
	NoCopy(stream string)
	// Quiet reports whether a node lives and says that next to nothing comes of a stream.
	Quiet(stream, node string) bool
	// Failed is called when a node could not be reached, or refused this one.
	Failed(node string, err error)
}

// Waits for pulls from other nodes. Another node that has the stream is asked at once;
// what is in the directory costs nothing to ask again.
const (
	nodeRetry  = 50 * time.Millisecond
	nodeMost   = time.Second
	nodeIdle   = 3 * time.Second
	nodeStart  = 5 * time.Second
	nodeRefuse = 50 * time.Millisecond
)

// cluster finds the sources of pulls.
type cluster struct {
	nodes Nodes

	mu   sync.Mutex
	last map[string]map[*edge.Origin]directory.Source // what Locate returned last, by stream
	move map[string]move                              // by stream
}

// move is the publication that a pull was sent to, and when: until its first frame has
// come, or the time has passed, more changes of the directory do not begin again.
type move struct {
	epoch uint64
	at    time.Time
}

// moving is how long a pull has to find a publication that it was sent to.
const moving = time.Second

// moves reports whether a pull is to be sent to a publication, and notes that it is.
func (c *cluster) moves(stream string, epoch uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if was := c.move[stream]; was.epoch == epoch && now.Sub(was.at) < moving {
		return false
	}
	for name, was := range c.move {
		if now.Sub(was.at) >= moving {
			delete(c.move, name)
		}
	}
	c.move[stream] = move{epoch, now}
	return true
}

// NewCluster makes the puller of a node. change, which may be nil, is for tests.
func NewCluster(h *session.Host, nodes Nodes, change func(*edge.Options)) *Origin {
	o := newOrigin(h)
	o.cluster = &cluster{nodes: nodes, last: map[string]map[*edge.Origin]directory.Source{}, move: map[string]move{}}
	options := edge.Options{
		Locate: o.cluster.locate, Failed: o.cluster.failed, Quiet: o.cluster.quiet, Local: o, Logger: h.Log, GiveUp: h.Config().OriginRetry, MaxFrame: h.Config().MaxFrame,
		Retry: nodeRetry, RetryMost: nodeMost, Idle: nodeIdle, Start: nodeStart, Refuse: nodeRefuse, Max: mostPulls,
	}
	if change != nil {
		change(&options)
	}
	o.pulls = edge.New(options)
	return o
}

func (c *cluster) locate(stream string) []*edge.Origin {
	var list []*edge.Origin
	sources := map[*edge.Origin]directory.Source{}
	for _, s := range c.nodes.Sources(stream) {
		o, err := edge.ParseOrigin(s.URL)
		if err != nil {
			continue // a node with another idea of an address
		}
		o = o.With(c.nodes.Grant(stream, s.Node))
		list, sources[o] = append(list, o), s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(list) == 0 {
		delete(c.last, stream)
	} else {
		c.last[stream] = sources
	}
	return list
}

func (c *cluster) source(stream string, from *edge.Origin) directory.Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[stream][from]
}

// quiet is edge.Options.Quiet.
func (c *cluster) quiet(stream string, from *edge.Origin) bool {
	return c.nodes.Quiet(stream, c.source(stream, from).Node)
}

// failed is edge.Options.Failed.
func (c *cluster) failed(stream string, from *edge.Origin, err error) {
	if node := c.source(stream, from).Node; node != "" {
		c.nodes.Failed(node, err)
	}
}

// Pulled reports whether the stream's publisher here is a pull.
func (o *Origin) Pulled(stream string) bool {
	st, ok := o.host.Hub.Stream(stream)
	if !ok {
		return false
	}
	p := st.Publisher()
	return p != nil && o.owns(stream, p)
}

// Moved is called when the directory has changed for a stream: what is pulled from
// another publication goes on from the new one, and viewers without a publisher get
// one.
func (o *Origin) Moved(stream string, epoch uint64) {
	if o.Viewers(stream) == 0 || o.here(stream) || len(o.cluster.nodes.Sources(stream)) == 0 {
		return
	}
	o.mu.Lock()
	p := o.mine[stream]
	o.mu.Unlock()
	if p == nil {
		o.begin(stream)
		return
	}
	if st, ok := o.host.Hub.Stream(stream); ok && epoch != 0 && st.Newest().Epoch != epoch && o.cluster.moves(stream, epoch) {
		o.pulls.Again(stream)
	}
}

// begin pulls a stream for the viewers that are here without one, and tries again while
// there are viewers and a node that should have the stream.
func (o *Origin) begin(stream string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.begins[stream] {
		return
	}
	o.begins[stream] = true
	o.host.Group.Hold()
	go func() {
		defer o.host.Group.Release()
		ctx := o.host.Ctx // it ends with the server, or with the stream
		for wanted := true; wanted && o.pulls.Pull(ctx, stream, nil) != nil; {
			wanted = waiting.For(beginAgain, ctx.Done()) && o.Viewers(stream) > 0 && !o.here(stream) && len(o.cluster.nodes.Sources(stream)) > 0
		}
		o.mu.Lock()
		delete(o.begins, stream)
		o.mu.Unlock()
	}()
}

// beginAgain is how soon a pull that did not begin is tried again.
const beginAgain = 200 * time.Millisecond

// Again makes the pull of a stream connect again, to the best source of now.
func (o *Origin) Again(stream string) {
	if o.cluster.moves(stream, 0) {
		o.pulls.Again(stream)
	}
}

// hopped is the publisher of a stream that comes from other nodes, with marks.
type hopped struct {
	pulled
	cluster *cluster
	stream  string
	from    directory.Source
	latest  live.Mark
	headers []live.Frame // that came before a frame
}

// maxHeaders is how many frames without a mark may come before one that has.
const maxHeaders = 80

// After implements edge.Resuming.
func (p *hopped) After() live.Mark { return p.latest }

// From implements edge.Resuming.
func (p *hopped) From(from *edge.Origin) {
	p.dropHeaders()
	if from == nil {
		p.cluster.nodes.NoCopy(p.stream)
		p.from = directory.Source{}
		return
	}
	p.from = p.cluster.source(p.stream, from)
	if p.latest.Epoch != 0 && p.from.Epoch == p.latest.Epoch && p.from.Node != "" {
		// What is here goes on, if the publisher is silent, too: then no frame comes.
		p.cluster.nodes.Copy(p.stream, p.from.Epoch, p.from.Level, p.from.Node)
		return
	}
	p.from.Epoch = 0 // not announced yet
}

// Publish implements edge.Sink. A frame that came before, from another node, is left
// out. Times are those of the publisher's node.
func (p *hopped) Publish(f live.Frame) error {
	if f.Mark == (live.Mark{}) {
		if len(p.headers) == maxHeaders {
			p.dropHeaders()
		}
		p.headers = append(p.headers, f) // its payload goes with it
		return p.publisher.Err()
	}
	if f.Mark.Epoch == p.latest.Epoch && f.Mark.Number <= p.latest.Number {
		f.Payload.Release()
		return p.publisher.Err()
	}
	if f.Mark.Epoch != p.latest.Epoch && p.latest.Epoch != 0 {
		p.publisher.Resume()
	}
	f.Time = f.Mark.Time
	if err := p.publishHeaders(f.Time); err != nil {
		f.Payload.Release()
		return err
	}
	p.latest = f.Mark
	if p.from.Epoch != f.Mark.Epoch && p.from.Node != "" {
		p.from.Epoch = f.Mark.Epoch
		p.cluster.nodes.Copy(p.stream, f.Mark.Epoch, p.from.Level, p.from.Node)
	}
	return p.pulled.Publish(f)
}

// publishHeaders publishes the headers that came, but not those that the stream has.
func (p *hopped) publishHeaders(at uint32) error {
	for i := range p.headers {
		f := &p.headers[i]
		known := false
		p.publisher.Stream().Headers(func(typ flv.TagType, body []byte) {
			known = known || typ == f.Type && bytes.Equal(body, f.Payload.Bytes())
		})
		if known {
			continue
		}
		next := live.Frame{Type: f.Type, Time: at, Payload: f.Payload.Retain()}
		if err := p.pulled.Publish(next); err != nil {
			return err
		}
	}
	p.dropHeaders()
	return nil
}

func (p *hopped) dropHeaders() {
	for i := range p.headers {
		p.headers[i].Payload.Release()
	}
	p.headers = p.headers[:0]
}

// Close implements edge.Sink.
func (p *hopped) Close() {
	p.dropHeaders()
	p.cluster.nodes.NoCopy(p.stream)
	p.pulled.Close()
}
