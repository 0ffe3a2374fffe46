package push

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/live"
)

// State is what another process needs to go on with pushes. It has the keys of added
// targets in it, so it is for that process and for no log.
type State struct {
	Number uint64        `json:"number"` // of the newest target that was added
	Added  []AddedTarget `json:"added"`
	Pushes []Moved       `json:"pushes"`
}

// AddedTarget is a target that was added while the server runs, with its key.
type AddedTarget struct {
	ID       string `json:"id"`
	Pattern  string `json:"pattern"`
	Address  string `json:"address"`
	Enhanced bool   `json:"enhanced"`
}

// Moved is one stream on its way to one target.
type Moved struct {
	Status
	Sum   []byte        `json:"sum"` // of the target, by which one of the settings is found
	Pause time.Duration `json:"pause,omitempty"`
	Next  time.Time     `json:"next"` // time of the next attempt; of a push with a pause
}

// sum is the same for targets that are the same, in any process.
func (t *Target) sum() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %v", t.streams.String(), t.address, t.enhanced))
	return sum[:]
}

// State returns what another process needs to go on.
func (p *Pusher) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := State{Number: p.number}
	for _, t := range p.added {
		st.Added = append(st.Added, AddedTarget{t.id, t.streams.String(), t.address, t.enhanced})
	}
	for _, q := range p.on {
		st.Pushes = append(st.Pushes, q.moved())
	}
	return st
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

// Resume goes on with what another process has pushed, before any stream begins. Targets
// of the settings are those of this process. With an error some target was left out.
func (p *Pusher) Resume(st State) (err error) {
	p.mu.Lock()
	p.number = max(p.number, st.Number)
	for _, a := range st.Added[:min(len(st.Added), mostAdded)] {
		// Variables of the environment were none: see the API.
		t, wrong := NewTarget(a.Pattern, a.Address, func(string) string { return "" })
		if wrong != nil {
			err = wrong
			continue
		}
		t.id, t.enhanced = a.ID, a.Enhanced
		p.added = append(p.added, t)
	}
	p.mu.Unlock()
	for _, s := range p.options.Streams() {
		targets := p.options.Targets(s.Name())
		p.mu.Lock()
		p.resume(s, slices.Concat(targets, p.added), st.Pushes)
		p.mu.Unlock()
	}
	return err
}

// resume begins those of the pushes that are of a stream, and whose targets there are
// still. The lock is held.
func (p *Pusher) resume(s *live.Stream, targets []*Target, pushes []Moved) {
	for _, t := range targets {
		sum := t.sum()
		at := slices.IndexFunc(pushes, func(m Moved) bool { return m.Stream == s.Name() && m.ID == t.id && slices.Equal(m.Sum, sum) })
		if at >= 0 {
			p.start(s, t, &pushes[at])
		}
	}
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

// retry is when a push is tried again.
type retry struct {
	pause time.Duration // before the next attempt; 0: none has failed
	next  time.Time     // of the next attempt; zero: at once
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
