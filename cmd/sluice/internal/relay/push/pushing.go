package push

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
	"github.com/sluice-go/sluice/live"
)

// errOver means that the stream is over: io.EOF would be what a lost target gives.
var errOver = errors.New("push: the stream is over")

// set changes the state, and the error unless it is nil. What the target gets has none. That it
// gets it is logged once after each failure that was.
func (q *pushing) set(state string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if state == Live {
		q.status.Error = ""
		if !q.logged {
			q.logged = true
			q.pusher.options.Logger.Info("pushing", "stream", q.status.Stream, "target", q.status.Target, "tries", q.status.Tries)
		}
	}
	if q.status.State != state {
		q.status.State, q.status.Since = state, time.Now()
	}
	if err != nil {
		q.status.Error = q.hide(err)
	}
}

// hide returns an error's text without the key, which servers like to repeat.
func (q *pushing) hide(err error) string {
	text := err.Error()
	for _, secret := range q.target.secrets(q.name) {
		if len(secret) > 2 {
			text = strings.ReplaceAll(text, secret, "...")
		}
	}
	return text[:min(len(text), 300)]
}

// rest is what is left of a pause between attempts after one that took so long itself: a
// machine that is away answers nothing, and is to be found within 5 s of its return.
func rest(pause, took, least time.Duration) time.Duration { return max(pause-took, least) }

// lives reports whether the target has taken something in the latest attempt.
func (q *pushing) lives() bool {
	state := q.now().State
	return state == Live || state == Behind
}

// waits notes that the next attempt is after a pause.
func (q *pushing) waits(pause time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.retry = retry{pause, time.Now().Add(pause)}
}

// pause reports whether the push should go on after it.
func (q *pushing) pause(ctx context.Context, wait time.Duration) bool {
	return waiting.ForEither(wait, ctx.Done(), q.stream.Done())
}

func isDone(st *live.Stream) bool {
	select {
	case <-st.Done():
		return true
	default:
		return false
	}
}

// whileLive returns a context that is done with the stream as well: a target that is not
// connected by then gets nothing.
func (q *pushing) whileLive(ctx context.Context) (context.Context, context.CancelFunc) {
	return waiting.With(ctx, q.stream.Done())
}

// behindFor is how long a push counts as behind after frames were left out.
const behindFor = 5 * time.Second

// send sends the stream's tags by write, to which they are lent until it returns.
func (q *pushing) send(ctx context.Context, tags *live.Reader, write func([]byte) error) error {
	var late time.Time
	for {
		p, dropped, err := tags.Next(ctx)
		if err == io.EOF {
			return errOver
		}
		if err != nil {
			return err // of ctx, for example what listen has returned
		}
		if err := write(p); err != nil {
			return err
		}
		if now := time.Now(); dropped > 0 {
			late = now
			q.set(Behind, nil)
		} else if now.Sub(late) >= behindFor {
			q.set(Live, nil)
		}
		q.mu.Lock()
		q.status.Bytes += int64(len(p))
		q.status.Dropped += int64(dropped)
		q.mu.Unlock()
	}
}

// Moved is one stream on its way to one target.
type Moved struct {
	Status
	Sum   []byte        `json:"sum"` // of the target, by which one of the settings is found
	Pause time.Duration `json:"pause,omitempty"`
	Next  time.Time     `json:"next"` // time of the next attempt; of a push with a pause
}

// await waits until a push of another process is to be tried, and returns the pause after
// that has failed. It reports false when the push should not go on.
func (q *pushing) await(ctx context.Context) (pause time.Duration, ok bool) {
	o := &q.pusher.options
	q.mu.Lock()
	r := q.retry
	q.mu.Unlock()
	pause = o.Retry
	if r.pause > 0 {
		pause = min(max(2*r.pause, o.Retry), o.RetryMost)
	}
	if r.next.IsZero() {
		return pause, true
	}
	return pause, q.pause(ctx, min(max(time.Until(r.next), 0), o.RetryMost))
}

// goOn takes over what another process knew, before run.
func (q *pushing) goOn(m *Moved) {
	q.status = m.Status
	q.status.Target = q.target.String()
	q.retry = retry{m.Pause, m.Next}
	o := &q.pusher.options
	if q.status.State == Waiting || q.status.State == Refused {
		return
	}
	// The connection of the other process has to end first, or the target refuses
	// this one.
	q.status.State, q.status.Since = Connecting, time.Now()
	q.retry.next = time.Now().Add(o.Retry)
}

func (q *pushing) moved() Moved {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := Moved{Status: q.status, Sum: q.target.sum()}
	if q.status.State != Live && q.status.State != Behind {
		m.Pause, m.Next = q.retry.pause, q.retry.next
	}
	return m
}

// callTime is how long a target may take to answer a call. It is SRT's own time, of which the
// library asks once, and enough for TCP to ask three times.
const callTime = 3 * time.Second
