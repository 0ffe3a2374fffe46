package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// A Sink receives the frames of one source; *live.Publisher is nearly one.
type Sink interface {
	// Publish takes a frame, transferred. An error ends the pull.
	Publish(live.Frame) error
	// Resume says that the following frames come over a new connection, whose times
	// start at another value.
	Resume()
	// Through gives the servers that the stream comes through, as far as the source says.
	Through(edge.Way)
	// LeftOut says what tracks of the source are left out, and why.
	LeftOut(tracks []string)
	Close()
}

// Other pulls the streams that are not of a source. It is what Puller is for a
// session.Host.
type Other interface {
	Want(ctx context.Context, info session.Info) error
	Release(stream string)
	Close(ctx context.Context) error
}

// Options configure a Puller. Sources, Publish and Find are required; each other field
// has a default, which its comment gives.
type Options struct {
	Sources []*Source
	// ID is this server's name among those that a stream comes through; none.
	ID string
	// Publish makes a pull the publisher of its stream.
	Publish func(s *Source) (Sink, error)
	// Find waits for a stream until ctx is done.
	Find func(ctx context.Context, stream string) error
	// Other is for all other streams; nil: none.
	Other Other
	// Linger is how long a pull goes on without viewers; 10 s.
	Linger time.Duration
	// Start is how long a connection may take until it plays; 10 s.
	Start time.Duration
	// Idle is the longest silence of a source; 10 s.
	Idle time.Duration
	// Retry is the first wait before a source is connected again, and RetryMost the
	// longest; 250 ms, 5 s.
	Retry, RetryMost time.Duration
	// GiveUp is for how long a stream may lack frames before it ends; 60 s. Its source
	// is tried on.
	GiveUp time.Duration
	// MaxFrame is the longest frame that is accepted, in bytes; 8 MiB.
	MaxFrame int
	Alloc    *mem.Allocator // nil is mem.Default()
	TLS      *tls.Config    // nil uses the system's roots
	Logger   *slog.Logger   // nil is slog.Default()
}

func (o Options) withDefaults() Options {
	o.Linger = cmp.Or(o.Linger, 10*time.Second)
	o.Start = cmp.Or(o.Start, 10*time.Second)
	o.Idle = cmp.Or(o.Idle, 10*time.Second)
	o.Retry = cmp.Or(o.Retry, 250*time.Millisecond)
	o.RetryMost = max(cmp.Or(o.RetryMost, 5*time.Second), o.Retry)
	o.GiveUp = cmp.Or(o.GiveUp, time.Minute)
	o.MaxFrame = cmp.Or(o.MaxFrame, 8<<20)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Alloc = cmp.Or(o.Alloc, mem.Default())
	return o
}

// A Puller pulls sources. All methods are for any goroutine.
type Puller struct {
	options Options
	ctx     context.Context // done when the puller is closed
	end     context.CancelFunc
	running sync.WaitGroup
	active  atomic.Int64

	mu    sync.Mutex
	pulls map[string]*pulled // by stream: all sources
}

// pulled is one source with its state, under the puller's lock.
type pulled struct {
	source *Source
	wanted int           // viewers, those who wait included
	on     bool          // its goroutine runs
	change chan struct{} // has a value when wanted has become 0 or more
}

// New returns a puller, which connects the sources that are always wanted. The caller
// closes it.
func New(o Options) *Puller {
	p := &Puller{options: o.withDefaults(), pulls: map[string]*pulled{}}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range o.Sources {
		q := &pulled{source: s, change: make(chan struct{}, 1)}
		p.pulls[s.Stream] = q
		if s.Always {
			q.wanted = 1
			p.start(q)
		}
	}
	return p
}

// Active returns how many sources are connected, or are being connected.
func (p *Puller) Active() int { return int(p.active.Load()) }

// start starts to pull. The lock is held.
func (p *Puller) start(q *pulled) {
	if q.on || p.ctx.Err() != nil {
		return
	}
	q.on = true
	p.active.Add(1)
	p.running.Go(func() { p.run(q) })
}

// Want counts a viewer of info.Stream and waits for its stream, until ctx is done. After
// an error, which matches session.ErrNotFound, nothing is counted.
func (p *Puller) Want(ctx context.Context, info session.Info) error {
	p.mu.Lock()
	q := p.pulls[info.Stream]
	if q != nil {
		q.count(1)
		p.start(q)
	}
	p.mu.Unlock()
	if q == nil {
		if p.options.Other == nil {
			return nil
		}
		return p.options.Other.Want(ctx, info)
	}
	if err := p.options.Find(ctx, info.Stream); err != nil {
		p.Release(info.Stream)
		return fmt.Errorf("%w: %s: its source does not answer", session.ErrNotFound, info.Stream)
	}
	return nil
}

// Release removes a viewer that Want counted.
func (p *Puller) Release(stream string) {
	p.mu.Lock()
	q := p.pulls[stream]
	if q != nil {
		q.count(-1)
	}
	p.mu.Unlock()
	if q == nil && p.options.Other != nil {
		p.options.Other.Release(stream)
	}
}

// count counts viewers. The lock is held.
func (q *pulled) count(n int) {
	q.wanted += n
	select {
	case q.change <- struct{}{}:
	default:
	}
}

// Close ends all pulls and waits for them, until ctx is done.
func (p *Puller) Close(ctx context.Context) error {
	p.mu.Lock()
	p.end()
	p.mu.Unlock()
	var err error
	if p.options.Other != nil {
		err = p.options.Other.Close(ctx)
	}
	// The pulls only have to notice that their connections are closed, so they get a
	// moment also when there is no time any more.
	_, late := waiting.Until(ctx, closing, p.running.Wait)
	return errors.Join(err, late)
}

// closing is how long Close waits at least.
const closing = time.Second
