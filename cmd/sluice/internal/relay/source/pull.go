package source

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
	"github.com/sluice-go/sluice/live"
)

// steady is how long a connection must have played before the waits between attempts
// start again from the first.
const steady = 10 * time.Second

// errGiveUp: a stream has lacked frames for too long.
var errGiveUp = errors.New("source: no frames for too long")

// run pulls a source until it is not wanted any more.
func (p *Puller) run(q *pulled) {
	defer p.active.Add(-1)
	o := &p.options
	log := o.Logger.With("stream", q.source.Stream, "source", q.source.String())
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	var watching = make(chan struct{})
	go func() {
		defer close(watching)
		p.watch(ctx, q, cancel)
	}()
	out := &output{puller: p, source: q.source, log: log}
	wait := o.Retry
	for ctx.Err() == nil {
		began := time.Now()
		out.left, out.way = nil, nil
		err := contain.Run(log, func() error { return pull(ctx, q.source, o, out.publish, out.leftOut, out.through) })
		if ctx.Err() != nil {
			break
		}
		if out.sink != nil && time.Since(out.latest) > o.GiveUp {
			out.close()
			err = errors.Join(err, errGiveUp)
		}
		if out.latest.Sub(began) > steady {
			wait = o.Retry
		}
		log.Warn("no stream from the source", "error", err, "retry", wait)
		waiting.For(wait, ctx.Done())
		wait = min(2*wait, o.RetryMost)
		out.again = true
	}
	out.close()
	cancel()
	<-watching
	p.mu.Lock()
	q.on = false
	if q.wanted > 0 {
		p.start(q) // a viewer came while this ended
	}
	p.mu.Unlock()
	log.Info("let go of the source")
}

// watch ends a pull that has had no viewers for Linger.
func (p *Puller) watch(ctx context.Context, q *pulled, end func()) {
	for ctx.Err() == nil {
		p.mu.Lock()
		idle := q.wanted == 0
		p.mu.Unlock()
		if !idle {
			select {
			case <-q.change:
			case <-ctx.Done():
			}
			continue
		}
		if !waiting.ForEither(p.options.Linger, q.change, ctx.Done()) {
			continue
		}
		p.mu.Lock()
		idle = q.wanted == 0
		p.mu.Unlock()
		if idle {
			end()
			return
		}
	}
}

// output publishes the frames of a source. Its publisher stays while the source is
// connected again.
type output struct {
	puller *Puller
	source *Source
	sink   Sink // nil before the first frame
	latest time.Time
	again  bool     // the next frame is the first of a new connection
	left   []string // tracks of this connection that are left out
	way    edge.Way // of this connection
	log    *slog.Logger
}

// maxLeftOut bounds how many tracks leftOut keeps.
const maxLeftOut = 16

// leftOut takes what a track is that is left out, and why.
func (x *output) leftOut(what string) {
	x.log.Warn("a track is left out", "track", what)
	if len(x.left) == maxLeftOut {
		return
	}
	x.left = append(x.left, what)
	if x.sink != nil {
		x.sink.LeftOut(slices.Clone(x.left))
	}
}

// through takes the servers that the stream comes through on this connection.
func (x *output) through(way edge.Way) { x.way = way }

func (x *output) publish(f live.Frame) error {
	if x.sink == nil {
		sink, err := x.puller.options.Publish(x.source)
		if err != nil {
			f.Payload.Release()
			return err
		}
		x.sink, x.again = sink, false
		x.sink.Through(x.way)
		x.sink.LeftOut(slices.Clone(x.left))
	}
	if x.again {
		x.again = false
		x.sink.Through(x.way)
		x.sink.Resume()
		x.sink.LeftOut(slices.Clone(x.left))
	}
	x.latest = time.Now()
	err := x.sink.Publish(f)
	if err != nil {
		x.close() // replaced, kicked, or the stream is over
	}
	return err
}

func (x *output) close() {
	if x.sink != nil {
		x.sink.Close()
		x.sink = nil
	}
}
