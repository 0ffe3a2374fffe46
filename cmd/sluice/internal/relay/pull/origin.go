package pull

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// askAgain is how often the origin is asked for a stream that a viewer waits for.
const askAgain = time.Second

// An Origin is the server's puller: it counts the viewers of each stream, and
// lets package edge fetch it.
type Origin struct {
	host      *session.Host
	cluster   *cluster // nil: origins with names
	pulls     *edge.Puller
	on, began atomic.Int64 // pulls

	mu     sync.Mutex
	wanted map[string]int             // viewers, those who still wait included
	mine   map[string]*live.Publisher // the pulls
	begins map[string]bool            // that are being begun because the directory has changed
}

// Agents of the publishers of pulls, in the register.
const (
	agentOrigin  = "origin"
	AgentCluster = "cluster"
)

// New starts no pull. change, which may be nil, is for tests.
func New(h *session.Host, addresses []string, change func(*edge.Options)) (*Origin, error) {
	from, err := edge.ParseOrigins(addresses)
	if err != nil {
		return nil, err
	}
	o := newOrigin(h)
	options := edge.Options{ID: h.ID, Origins: from, Local: o, Logger: h.Log, GiveUp: h.Config().OriginRetry, Idle: h.Config().PublishTimeout, MaxFrame: h.Config().MaxFrame, Max: most(h.Config().MaxStreams)}
	if change != nil {
		change(&options)
	}
	o.pulls = edge.New(options)
	return o, nil
}

// most is how many streams may be fetched at once, when so many may be published; 0 is no limit.
func most(streams int) int {
	if streams == 0 {
		return mostPulls
	}
	return max(streams, leastPulls)
}

const (
	mostPulls = 100_000
	// leastPulls is what an edge fetches whose own publishers are few.
	leastPulls = 1000
)

func newOrigin(h *session.Host) *Origin {
	return &Origin{host: h, wanted: make(map[string]int), mine: make(map[string]*live.Publisher), begins: make(map[string]bool)}
}

// Want implements session's puller.
func (o *Origin) Want(ctx context.Context, info session.Info) error {
	o.count(info.Stream, 1)
	err := o.want(ctx, info)
	if err != nil {
		o.count(info.Stream, -1)
	}
	return err
}

func (o *Origin) want(ctx context.Context, info session.Info) error {
	play, err := session.ParsePlayOptions(info.Query)
	if err != nil {
		return err
	}
	for {
		if o.here(info.Stream) {
			return nil
		}
		err := o.pulls.Pull(ctx, info.Stream, info.Via)
		if err == nil {
			return nil
		}
		// Do not send the origin's error text and address to the peer.
		o.host.Log.Debug("not pulled", "stream", info.Stream, "error", err)
		if errors.Is(err, edge.ErrTooMany) {
			return fmt.Errorf("%w: too many streams are fetched from the origin; see max-streams", session.ErrFull)
		}
		missing := fmt.Errorf("%w: %s", session.ErrNotFound, info.Stream)
		if play.Wait == 0 || ctx.Err() != nil || errors.Is(err, edge.ErrLoop) {
			return missing
		}
		if !o.pause(ctx, info.Stream) {
			return missing
		}
	}
}

// here reports whether the stream has a publisher on this server that is not a
// pull.
func (o *Origin) here(stream string) bool {
	st, ok := o.host.Hub.Stream(stream)
	if !ok {
		return false
	}
	p := st.Publisher()
	return p != nil && !o.owns(stream, p)
}

// owns reports whether p is a pull.
func (o *Origin) owns(stream string, p *live.Publisher) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mine[stream] == p
}

// protocolOf returns the protocol of an origin's address.
func protocolOf(address string) string {
	scheme, _, _ := strings.Cut(address, ":")
	switch scheme {
	case "http":
		return session.FLV
	case "https":
		return session.FLVS
	}
	return scheme // as a session's is called
}

// pause waits until the origin may be asked again, or the stream has a publisher
// here. It reports false when the viewer's wait has ended.
func (o *Origin) pause(ctx context.Context, stream string) bool {
	pause, cancel := context.WithTimeout(ctx, askAgain)
	defer cancel()
	if st, err := o.host.Hub.Wait(pause, stream); err != nil || st.Publisher() == nil {
		// Hub.Wait returns at once for a stream whose publisher may come back.
		<-pause.Done()
	}
	return ctx.Err() == nil
}

// Stats returns the figures of the pulls.
func (o *Origin) Stats() edge.Stats { return o.pulls.Stats() }

// Metrics are figures of the pulls.
func (o *Origin) Metrics() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_pulls", Help: "Streams that are being pulled from an origin."}, func() float64 { return float64(o.on.Load()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_pulls_total", Help: "Streams that an origin has begun to send."}, func() float64 { return float64(o.began.Load()) }),
	}
}

// Release implements session's puller.
func (o *Origin) Release(stream string) { o.count(stream, -1) }

func (o *Origin) count(stream string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.wanted[stream] += n; o.wanted[stream] == 0 {
		delete(o.wanted, stream)
	}
}

// Close implements session's puller.
func (o *Origin) Close(ctx context.Context) error {
	// The pulls only have to notice that their connections are closed, so they get a
	// moment also when there is no time any more.
	_, err := waiting.Until(ctx, closing, o.pulls.Close)
	return err
}

// closing is how long Close waits at least.
const closing = time.Second

// Viewers implements edge.Local.
func (o *Origin) Viewers(stream string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wanted[stream]
}

// Publish implements edge.Local.
func (o *Origin) Publish(stream, from string) (edge.Sink, error) {
	release, err := o.host.Gate.Reserve(stream)
	if err != nil {
		return nil, err
	}
	p, err := o.host.PublishPull(stream, from)
	if err != nil {
		release()
		if errors.Is(err, session.ErrBusy) {
			err = live.ErrBusy
		}
		return nil, err
	}
	o.mu.Lock()
	o.mine[stream] = p
	o.mu.Unlock()
	agent := agentOrigin
	if o.cluster != nil {
		agent = AgentCluster
	}
	c := o.host.Register.Begin(session.RolePublisher, session.Info{Stream: stream, Protocol: protocolOf(from), Address: from, Agent: agent})
	c.Attach(nil, func(error) { p.Close() })
	o.on.Add(1)
	o.began.Add(1)
	sink := pulled{origin: o, publisher: p, client: c, release: release}
	if o.cluster != nil {
		return &hopped{pulled: sink, cluster: o.cluster, stream: stream}, nil
	}
	return &resumed{sink}, nil
}

// pulled is the publisher of a stream that comes from the origin.
type pulled struct {
	origin    *Origin
	publisher *live.Publisher
	client    *session.Client
	release   func()
}

// Publish implements edge.Sink.
func (p *pulled) Publish(f live.Frame) error {
	p.client.Count(flv.TagHeaderLen + f.Payload.Len())
	return p.publisher.Publish(f)
}

// Through implements edge.Routed.
func (p *pulled) Through(way edge.Way) { p.origin.host.ComesThrough(p.publisher, way) }

// Done implements edge.Ended.
func (p *pulled) Done() <-chan struct{} { return p.publisher.Done() }

// Err implements edge.Ended.
func (p *pulled) Err() error { return p.publisher.Err() }

// resumed is a pull from an origin that numbers nothing.
type resumed struct{ pulled }

// Resume implements edge.Resumer.
func (p *resumed) Resume() { p.publisher.Resume() }

// Close implements edge.Sink.
func (p *pulled) Close() {
	p.origin.on.Add(-1)
	p.origin.mu.Lock()
	if stream := p.client.Stream; p.origin.mine[stream] == p.publisher {
		delete(p.origin.mine, stream)
	}
	p.origin.mu.Unlock()
	reason := p.publisher.Err()
	p.publisher.Close()
	p.origin.host.EndPull(p.client.Stream, p.publisher)
	p.Through(nil)
	p.client.End(reason)
	p.release()
}
