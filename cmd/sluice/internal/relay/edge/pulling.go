package edge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
	"github.com/sluice-go/sluice/live"
)

// steady is how long a connection must have delivered frames before the backoff
// starts again from its first step.
const steady = 10 * time.Second

// run pulls until the stream is not wanted any more or cannot be pulled.
func (q *pulling) run() {
	defer close(q.gone)
	ctx, end := context.WithCancelCause(q.puller.ctx)
	defer end(nil)
	began := time.Now()
	err := q.keep(ctx, end)
	if q.sink == nil {
		if errors.Is(err, live.ErrBusy) {
			err = nil // the stream has another publisher here
		}
		q.puller.over(q, err)
		q.err = err
		close(q.ready)
		q.log.Log(ctx, q.puller.refusalLevel(err, time.Now()), "no stream from the origin", "why", err)
		return
	}
	q.puller.ending(q)
	q.sink.Close()
	q.puller.over(q, nil)
	q.log.Info("let go of the origin's stream", "why", err, "after", time.Since(began).Round(time.Millisecond))
}

// keep connects to the origins, again and again, and returns why it stopped.
func (q *pulling) keep(ctx context.Context, end context.CancelCauseFunc) error {
	o := &q.puller.options
	again := backoff{first: o.Retry, most: o.RetryMost}
	for {
		began := time.Now()
		err := q.round(ctx, end)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case q.sink == nil && q.shorter():
			continue
		case q.sink == nil, final(err):
			return err
		case q.sinkErr() != nil:
			return q.sinkErr()
		case time.Since(q.latest) > o.GiveUp:
			return fmt.Errorf("no frame for %v: %w", o.GiveUp, err)
		}
		// Another node of a cluster is asked at once: it is another source.
		if q.latest.Sub(began) > steady || o.Locate != nil && q.latest.After(began) {
			again.reset()
		}
		wait := again.wait()
		q.log.Warn("lost the origin", "origin", q.from.String(), "error", err, "retry", wait)
		waiting.ForEither(wait, q.hurry, ctx.Done())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		q.puller.reconnects.Add(1)
	}
}

// sinkErr is why the sink takes nothing more, if it says that.
func (q *pulling) sinkErr() error {
	if sink, ok := q.sink.(Ended); ok {
		return sink.Err()
	}
	return nil
}

// final reports whether connecting again is useless for a stream that has played,
// because the reason is local. An origin that does not have the stream may soon
// have it again.
func final(err error) bool {
	for _, e := range []error{live.ErrBusy, live.ErrTakenOver, live.ErrOverfull, live.ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// round tries one origin after the other until one has sent frames, and returns
// why that ended. When none has, it returns the answer of an origin that was
// reached, or else a connection error.
func (q *pulling) round(ctx context.Context, end context.CancelCauseFunc) error {
	q.request()
	p := q.puller
	p.mu.Lock()
	origins := p.options.Origins
	p.mu.Unlock()
	reason := error(nil)
	if p.options.Locate != nil {
		origins = p.options.Locate(q.stream)
		reason = ErrNotFound // until another answer comes
	}
	p.mu.Lock()
	origins = p.health.order(origins, time.Now())
	p.mu.Unlock()
	for i, from := range origins {
		q.from = from
		before := q.latest
		within := time.Duration(0)
		if others := len(origins) - 1; i < others && p.options.Locate == nil {
			// A machine that is off says nothing at all, for longer than viewers wait.
			within = max(p.options.Answer/time.Duration(others), 2*p.options.Answer/5)
		}
		err := contain.Run(q.log, func() error { return q.connection(ctx, end, within) })
		said := errors.Is(err, ErrNotFound) || errors.Is(err, ErrDenied)
		came := q.latest.After(before)
		if ctx.Err() == nil {
			p.mu.Lock()
			// One that sends nothing more may not be the only one that has the stream.
			stalled := errors.Is(err, errTrickle) || errors.Is(err, os.ErrDeadlineExceeded)
			p.health.note(from, said || came && !stalled, time.Now())
			p.mu.Unlock()
		}
		if ctx.Err() != nil || came || final(err) {
			return err
		}
		q.log.Debug("an origin does not have the stream", "origin", from.String(), "error", err)
		if p.options.Failed != nil && !errors.Is(err, ErrNotFound) {
			p.options.Failed(q.stream, from, err)
		}
		if reason == nil || said || p.options.Locate != nil {
			reason = err
		}
	}
	return reason
}

// connection pulls over one connection and returns why it ended. The answer may take so long; 0: as long
// as the first frame.
func (q *pulling) connection(parent context.Context, end context.CancelCauseFunc, within time.Duration) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	q.again.Store(&cancel)
	// One timeout for everything before the first frame.
	starting := time.AfterFunc(q.puller.options.Start, func() { cancel(errStart) })
	defer starting.Stop()
	if within > 0 {
		q.mute = time.AfterFunc(within, func() { cancel(errAnswer) })
		defer func() { q.mute.Stop(); q.mute = nil }()
	}
	late := q.deadline(ctx, cancel)
	defer late.Stop()
	first, began := true, time.Now()
	q.answered, q.way = began, nil
	lost := func(*Origin) {}
	q.repeats.begin(q.sink != nil)
	defer q.repeats.end()
	publish := func(f live.Frame) error {
		if q.sink == nil {
			if err := q.begin(parent, end); err != nil {
				f.Payload.Release()
				return err
			}
		} else if first {
			q.log.Info("pulling on", "origin", q.from.String(), "without", time.Since(q.latest).Round(time.Millisecond), "connecting", q.answered.Sub(began).Round(time.Millisecond), "waiting", time.Since(q.answered).Round(time.Millisecond))
			if sink, ok := q.sink.(Resumer); ok && !q.repeats.goesOn() {
				sink.Resume()
			}
		}
		if sink, ok := q.sink.(Resuming); ok && first {
			sink.From(q.from)
			lost = sink.From
		}
		if sink, ok := q.sink.(Routed); ok && first {
			sink.Through(q.way)
		}
		first = false
		q.latest = time.Now()
		err := q.sink.Publish(f)
		if err == nil {
			q.announce()
		}
		return err
	}
	deliver := func(f live.Frame) error {
		starting.Stop()
		late.Stop()
		defer late.Reset(q.frameTime())
		if q.puller.options.Locate != nil {
			return publish(f) // it was asked for what follows the latest frame
		}
		return q.repeats.pass(f, publish)
	}
	var err error
	if q.from.HTTP() {
		err = q.pullHTTP(ctx, deliver)
	} else {
		err = q.pullRTMP(ctx, deliver)
	}
	lost(nil)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return shorten(err)
}

// answers says that the origin has answered.
func (q *pulling) answers() {
	q.answered = time.Now()
	if q.mute != nil {
		q.mute.Stop()
	}
}

// frameTime is how long the next frame may take.
func (q *pulling) frameTime() time.Duration { return 2 * q.puller.options.Idle }

// deadline returns a timer that ends a connection whose next frame takes too long, unless that is the publisher's
// silence. It begins with the first frame.
func (q *pulling) deadline(ctx context.Context, cancel context.CancelCauseFunc) *time.Timer {
	var late *time.Timer
	from := q.from // another connection may have begun when this is called
	late = time.AfterFunc(time.Duration(math.MaxInt64), func() {
		if quiet := q.puller.options.Quiet; quiet != nil && ctx.Err() == nil && quiet(q.stream, from) {
			late.Reset(q.frameTime())
			return
		}
		cancel(errTrickle)
	})
	return late
}

// comes takes the servers that an origin's stream comes through. With this one among them
// the origin has what it got from here, and no more: its frames would go round in a circle.
func (q *pulling) comes(way Way) error {
	if q.puller.options.Locate == nil && way.Has(q.puller.options.ID) {
		return fmt.Errorf("%w: what it has comes from this server", ErrNotFound)
	}
	q.way = way
	return nil
}

// begin makes the pull the publisher of its stream, and starts to watch whether
// it has viewers.
func (q *pulling) begin(ctx context.Context, end context.CancelCauseFunc) error {
	sink, err := q.puller.options.Local.Publish(q.stream, q.from.String())
	if err != nil {
		return err
	}
	q.sink = sink
	q.log.Info("pulling from the origin", "origin", q.from.String())
	q.puller.running.Go(func() { q.watch(ctx, sink, end) })
	return nil
}

// announce notifies the waiting Pull calls that the stream is there.
func (q *pulling) announce() {
	select {
	case <-q.ready:
	default:
		close(q.ready)
	}
}

// watch ends the pull when the stream has had no viewers for Linger, or is not the pull's any more: an origin that
// sends nothing would be waited for until Idle.
func (q *pulling) watch(ctx context.Context, sink Sink, end context.CancelCauseFunc) {
	var lost <-chan struct{}
	ended, ok := sink.(Ended)
	if ok {
		lost = ended.Done()
	}
	linger := q.puller.options.Linger
	tick := time.NewTicker(max(linger/8, time.Millisecond))
	defer tick.Stop()
	wanted := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-lost:
			end(ended.Err())
			return
		case now := <-tick.C:
			if q.puller.options.Local.Viewers(q.stream) > 0 {
				wanted = now
			}
			if now.Sub(wanted) < linger {
				continue
			}
			if q.puller.leave(q, now.Add(-linger)) {
				end(errUnwanted)
				return
			}
		}
	}
}
