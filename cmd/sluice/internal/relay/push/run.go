package push

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/rtmp"
)

// Begin pushes a stream to the targets that match its name, until it ends. What is
// pushed already goes on.
func (p *Pusher) Begin(st *live.Stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin(st, p.options.Targets(st.Name())) // under the lock: a Refresh in between would be undone
}

// begin pushes a stream to those of the targets, and of the added ones, that match it.
// The lock is held.
func (p *Pusher) begin(st *live.Stream, targets []*Target) {
	for _, t := range slices.Concat(targets, p.added) {
		p.start(st, t, nil)
	}
}

// start pushes a stream to a target if it matches and is not pushed to that place yet. m is what
// another process knew of it; nil: nothing. The lock is held.
func (p *Pusher) start(st *live.Stream, t *Target, m *Moved) {
	middle, ok := t.streams.Match(st.Name())
	name := strings.ReplaceAll(t.key, "*", middle)
	k := key{st, t.tcURL() + "/" + name}
	if !ok || p.closed || p.on[k] != nil {
		return
	}
	q := &pushing{pusher: p, stream: st, target: t, name: name}
	q.status = Status{ID: t.id, Stream: st.Name(), Target: t.String(), State: Connecting, Since: time.Now()}
	if m != nil {
		q.goOn(m)
	}
	var ctx context.Context
	ctx, q.stop = context.WithCancel(p.ctx)
	p.on[k] = q
	p.running.Go(func() {
		defer q.stop()
		q.run(ctx)
		p.mu.Lock()
		if p.on[k] == q { // not another, after a reload and one more
			delete(p.on, k)
		}
		p.mu.Unlock()
	})
}

// run tries again and again until the stream ends or ctx is done.
func (q *pushing) run(ctx context.Context) {
	o := &q.pusher.options
	log := o.Logger.With("stream", q.stream.Name(), "target", q.target.String())
	pause, ok := q.await(ctx)
	if !ok {
		return
	}
	var said reports
	for ; ; pause = min(2*pause, o.RetryMost) {
		q.set(Connecting, nil)
		q.mu.Lock()
		q.status.Tries++
		q.mu.Unlock()
		began := time.Now()
		attempt := q.attempt
		if q.target.srt != nil {
			attempt = q.attemptSRT
		}
		err := contain.Run(log, func() error { return attempt(ctx) })
		if err == errOver || ctx.Err() != nil || isDone(q.stream) {
			log.Info("push ended", "bytes", q.now().Bytes)
			return
		}
		if q.lives() && time.Since(began) > o.Timeout {
			pause, said = o.Retry, reports{} // it worked for a while
		}
		state := Waiting
		if refused := (*rtmp.StatusError)(nil); errors.As(err, &refused) || errors.Is(err, ErrCodec) || errors.Is(err, srtconn.ErrRejected) || errors.Is(err, errNothing) || err == errItself {
			state = Refused
		}
		q.set(state, err)
		if said.due(state, time.Now()) {
			q.mu.Lock()
			q.logged = false
			q.mu.Unlock()
			log.Warn("push failed; it is tried again", "state", state, "tries", q.now().Tries, "error", q.hide(err))
		}
		until := time.Now().Add(o.RetryCodec)
		wait := rest(pause, time.Since(began), o.Retry)
		for q.waits(wait); q.pause(ctx, wait); q.waits(wait) {
			if !errors.Is(err, ErrCodec) || q.plain || time.Now().After(until) || q.taken() {
				break
			}
		}
		if ctx.Err() != nil || isDone(q.stream) {
			return
		}
	}
}
