package edge

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/live"
)

// Errors of Pull that callers match with errors.Is. Others are those of the
// network.
var (
	// ErrNotFound: the origin does not have the stream.
	ErrNotFound = errors.New("edge: the origin does not have the stream")
	// ErrDenied: the origin does not give the stream to this server.
	ErrDenied = errors.New("edge: the origin refuses")
	// ErrLoop: the request has passed this server before, or too many servers.
	ErrLoop = errors.New("edge: servers pull from one another in a circle")
	// ErrTooMany: the maximum number of pulls is reached.
	ErrTooMany = errors.New("edge: too many streams are pulled")
	// ErrClosed: the puller was closed.
	ErrClosed = errors.New("edge: closed")
)

// Sink receives the frames of one pull; *live.Publisher is one.
type Sink interface {
	// Publish takes a frame, transferred. An error ends the pull.
	Publish(live.Frame) error
	Close()
}

// A Resumer is a Sink that is notified when the following frames come over a new
// connection, whose timestamps start at another value.
type Resumer interface{ Resume() }

// Local is the server that streams are pulled for.
type Local interface {
	// Publish makes a pull the publisher of a stream. An error ends the pull;
	// live.ErrBusy says that the stream is here without it.
	Publish(stream, origin string) (Sink, error)
	// Viewers returns the number of viewers of a stream, those who still wait
	// included. It must not call the Puller.
	Viewers(stream string) int
}

// A Resuming is a Sink that knows how far it has come, so that another server can go
// on behind that. Its Resume is not called: it sees by the marks of frames what they
// follow.
type Resuming interface {
	// After returns the mark of the latest frame.
	After() live.Mark
	// From is called before the first frame of each connection, with its origin, and
	// with nil when that is lost.
	From(*Origin)
}

// Options configures a Puller. Local and one of Origins and Locate are required; each
// other field has a default, which its comment gives.
type Options struct {
	// Origins are tried in order; those that could not be reached recently come
	// last.
	Origins []*Origin
	// Locate returns the origins of a stream at this moment, in the order in which to
	// try them. They are other servers of a cluster, and send marks. nil: Origins.
	Locate func(stream string) []*Origin
	// Failed, which may be nil, is called when an origin could not be reached, or refused this
	// server. It must not wait.
	Failed func(stream string, from *Origin, err error)
	Local  Local
	// ID is this server's name in paths; a random one.
	ID string
	// Linger is how long a pull goes on without viewers; 10 s.
	Linger time.Duration
	// Start is how long a connection to the origin may take until its first
	// frame; 10 s.
	Start time.Duration
	// Idle is the longest silence of the origin; 10 s.
	Idle time.Duration
	// Quiet, which may be nil, is called when an origin that has sent frames was silent for so long,
	// and reports whether that is the publisher's silence: then the connection stays. It must not
	// wait. It is not asked about origins behind TLS or a proxy, whose connections end by a timeout.
	Quiet func(stream string, from *Origin) bool
	// Retry is the first wait before the origins are asked again for a stream
	// that has played, and RetryMost the longest; 250 ms, 3 s.
	Retry, RetryMost time.Duration
	// GiveUp is how long a stream that has played may lack frames, whatever the
	// origins answer, before its pull ends; 60 s.
	GiveUp time.Duration
	// Refuse is how long a stream that could not be pulled is refused without
	// asking the origin again; 1 s.
	Refuse time.Duration
	// Max is how many streams may be pulled at once; 1,000.
	Max int
	// MaxFrame is the longest frame that is accepted, in bytes; 8 MiB.
	MaxFrame int
	// TLS is for connections to the origin; nil uses the system's roots.
	TLS *tls.Config
	// Logger logs pulls that begin and end; nil is slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if len(o.Origins) == 0 && o.Locate == nil || o.Local == nil {
		panic(fmt.Sprintf("edge: a Puller with the origins %v and %v to publish in", o.Origins, o.Local))
	}
	o.ID = cmp.Or(o.ID, newID())
	o.Linger = cmp.Or(o.Linger, 10*time.Second)
	o.Start = cmp.Or(o.Start, 10*time.Second)
	o.Idle = cmp.Or(o.Idle, 10*time.Second)
	o.Retry = cmp.Or(o.Retry, 250*time.Millisecond)
	o.RetryMost = max(cmp.Or(o.RetryMost, 3*time.Second), o.Retry)
	o.GiveUp = cmp.Or(o.GiveUp, time.Minute)
	o.Refuse = cmp.Or(o.Refuse, time.Second)
	o.MaxFrame = cmp.Or(o.MaxFrame, 8<<20)
	o.Max = cmp.Or(o.Max, 1000)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

// maxRefusals bounds the number of remembered refusals.
const maxRefusals = 1024

// Stats are a Puller's figures since it was made.
type Stats struct {
	Active     int   // streams that are pulled now
	Begun      int64 // pulls that were begun
	Failed     int64 // those of them that never had a frame
	Reconnects int64 // times that a connection was made anew
}

// Puller pulls streams from an origin, or from several with the same streams.
type Puller struct {
	options Options
	client  *http.Client
	end     context.CancelCauseFunc
	ctx     context.Context // done when the puller is closed
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	pulls   map[string]*pulling
	refused map[string]refusal
	health  health

	begun, failed, reconnects atomic.Int64
}

type refusal struct {
	err   error
	until time.Time
}

// New returns a puller, which the caller closes.
func New(o Options) *Puller {
	p := &Puller{
		options: o.withDefaults(),
		pulls:   make(map[string]*pulling),
		refused: make(map[string]refusal),
	}
	p.client = p.newClient()
	p.ctx, p.end = context.WithCancelCause(context.Background())
	return p
}

// ID returns this server's name in paths.
func (p *Puller) ID() string { return p.options.ID }

// Pull starts to pull the stream, or joins its pull, and returns when the first
// frame was published. It returns ErrNotFound or ErrDenied when the origin says
// so, ErrLoop when path shows a circle, and the context's cause when ctx ends
// first; the pull then goes on without the caller.
//
// path is the list of servers that the request has passed; nil when it is a
// viewer's own.
func (p *Puller) Pull(ctx context.Context, stream string, path Path) error {
	if !path.admits(p.options.ID) {
		return fmt.Errorf("%w: %v", ErrLoop, path)
	}
	for {
		q, leaving, err := p.join(stream, path)
		if err != nil {
			return err
		}
		// Wait for a pull that is ending, then start a new one.
		wait := q.ready
		if leaving {
			wait = q.gone
		}
		select {
		case <-wait:
			if !leaving {
				return q.err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// join returns the pull of the stream, starting one if there is none, and reports
// whether it is about to end.
func (p *Puller) join(stream string, path Path) (q *pulling, leaving bool, err error) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, ErrClosed
	}
	if r, ok := p.refused[stream]; ok {
		if now.Before(r.until) {
			return nil, false, r.err
		}
		delete(p.refused, stream)
	}
	q = p.pulls[stream]
	if q == nil {
		if len(p.pulls) >= p.options.Max {
			return nil, false, fmt.Errorf("%w: %d", ErrTooMany, len(p.pulls))
		}
		q = newPulling(p, stream, path)
		p.pulls[stream] = q
		p.begun.Add(1)
		p.running.Go(q.run)
	}
	q.asked = now
	return q, q.leaving, nil
}

// leave marks a pull as ending because its stream has no viewers. It reports
// false when there was a new request since then, or the stream has viewers again.
func (p *Puller) leave(q *pulling, since time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.asked.After(since) || p.options.Local.Viewers(q.stream) > 0 {
		return false
	}
	q.leaving = true
	return true
}

// ending marks a pull as ending.
func (p *Puller) ending(q *pulling) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.leaving = true
}

// over removes an ended pull from the list. When it never had a frame, later
// requests get the same refusal for a while.
func (p *Puller) over(q *pulling, refuse error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pulls[q.stream] == q {
		delete(p.pulls, q.stream)
	}
	if refuse == nil {
		return
	}
	p.failed.Add(1)
	now := time.Now()
	if len(p.refused) >= maxRefusals {
		for name, r := range p.refused {
			if !now.Before(r.until) {
				delete(p.refused, name)
			}
		}
	}
	if len(p.refused) < maxRefusals {
		p.refused[q.stream] = refusal{err: refuse, until: now.Add(p.options.Refuse)}
	}
}

// Stats returns the puller's figures.
func (p *Puller) Stats() Stats {
	p.mu.Lock()
	active := len(p.pulls)
	p.mu.Unlock()
	return Stats{Active: active, Begun: p.begun.Load(), Failed: p.failed.Load(), Reconnects: p.reconnects.Load()}
}

// Close ends all pulls and returns when their goroutines have ended.
func (p *Puller) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end(ErrClosed)
	p.running.Wait()
	p.client.CloseIdleConnections()
}
