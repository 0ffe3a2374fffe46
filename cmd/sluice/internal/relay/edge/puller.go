package edge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// maxRefusals bounds the number of remembered refusals.
const maxRefusals = 1024

// Stats are a Puller's figures since it was made.
type Stats struct {
	Active     int   // streams that are pulled now
	Begun      int64 // pulls that were begun
	Failed     int64 // those of them that never had a frame
	Reconnects int64 // times that a connection was made again
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
	logged  time.Time // when lines were counted from
	lines   int       // in the log since then

	begun, failed, reconnects atomic.Int64
}

// A refusal holds for requests that have passed as many servers as the refused one, or more:
// it may have been refused for that.
type refusal struct {
	err    error
	passed int
	until  time.Time
}

// ID returns this server's name in paths.
func (p *Puller) ID() string { return p.options.ID }

// In logEvery so many pulls that fail are logged: any client can ask for thousands of names.
const (
	logEvery = 10 * time.Second
	maxLines = 20
)

// refusalLevel is the level of the line for a pull that never had a frame. That there is no
// such stream the line for the viewer says.
func (p *Puller) refusalLevel(err error, now time.Time) slog.Level {
	if errors.Is(err, ErrNotFound) {
		return slog.LevelDebug
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.logged) >= logEvery {
		p.logged, p.lines = now, 0
	}
	if p.lines++; p.lines > maxLines {
		return slog.LevelDebug
	}
	return slog.LevelInfo
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
		p.refused[q.stream] = refusal{err: refuse, passed: len(q.asks) - 1, until: now.Add(p.options.Refuse)}
	}
}

// Stats returns the puller's figures.
func (p *Puller) Stats() Stats {
	p.mu.Lock()
	active := len(p.pulls)
	p.mu.Unlock()
	return Stats{Active: active, Begun: p.begun.Load(), Failed: p.failed.Load(), Reconnects: p.reconnects.Load()}
}

// pulling is one stream that is pulled.
type pulling struct {
	puller *Puller
	stream string
	log    *slog.Logger

	// Under the puller's lock.
	asked   time.Time // of the latest request for it
	path    Path      // the shortest of those of its requests, with this server
	leaving bool      // it is about to end

	ready chan struct{} // closed when there is a frame, or there will be none
	err   error         // then: why there is none
	gone  chan struct{} // closed when it has ended
	hurry chan struct{} // has a value when it need not wait to connect again

	// Of the goroutine that runs the pull.
	from     *Origin                                 // that is asked
	asks     Path                                    // by which it is
	answered time.Time                               // when it did
	mute     *time.Timer                             // ends a connection that is not answered; nil: none
	way      Way                                     // that the stream comes, as it says
	again    atomic.Pointer[context.CancelCauseFunc] // ends the connection that there is
	sink     Sink                                    // nil before the first frame
	latest   time.Time                               // of the latest frame that was not repeated
	repeats  repeats
}

func newPulling(p *Puller, stream string, path Path) *pulling {
	return &pulling{
		puller: p,
		stream: stream,
		path:   path,
		log:    p.options.Logger.With("stream", stream),
		ready:  make(chan struct{}),
		gone:   make(chan struct{}),
		hurry:  make(chan struct{}, 1),
	}
}

// request takes the path by which the next round asks.
func (q *pulling) request() {
	q.puller.mu.Lock()
	defer q.puller.mu.Unlock()
	q.asks = q.path
}

// shorter reports, for a pull that was refused, whether a request has joined it since that has
// passed fewer servers: the origins have not answered that one. Otherwise the pull is about to end.
func (q *pulling) shorter() bool {
	q.puller.mu.Lock()
	defer q.puller.mu.Unlock()
	q.leaving = len(q.path) >= len(q.asks)
	return !q.leaving
}

// Again makes the pull of a stream, if there is one, connect again: the stream is
// elsewhere now.
func (p *Puller) Again(stream string) {
	p.mu.Lock()
	q := p.pulls[stream]
	p.mu.Unlock()
	if q == nil {
		return
	}
	select {
	case q.hurry <- struct{}{}:
	default:
	}
	if cancel := q.again.Load(); cancel != nil {
		(*cancel)(errElsewhere)
	}
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
