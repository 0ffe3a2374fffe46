package hooks

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// A List takes events; Add does not wait.
type List interface{ Add(Event) }

// A Reporter makes events of what happens, and adds each to all its lists.
type Reporter []List

func (r Reporter) add(v Event) {
	if v.Time.IsZero() {
		v.Time = time.Now()
	}
	for _, l := range r {
		l.Add(v)
	}
}

// Began implements session.Observer.
func (r Reporter) Began(s *session.Client) {
	v := about(s, PlayBegin)
	if s.Role == session.RolePublisher {
		v.Event = PublishBegin
	}
	v.Time = s.Since
	r.add(v)
}

// Ended implements session.Observer.
func (r Reporter) Ended(s *session.Client, f session.Figures, reason error) {
	v := about(s, PlayEnd)
	took := time.Since(s.Since).Milliseconds()
	v.Bytes, v.Frames, v.DurationMS = &f.Bytes, &f.Frames, &took
	v.Code, v.Reason = session.Code(reason), session.Words(reason)
	if s.Role == session.RolePublisher {
		v.Event = PublishEnd
	} else if evicted(reason) {
		first := v
		first.Event = Evicted
		r.add(first)
	}
	r.add(v)
}

// TookOver reports that a publisher that stood by has taken its stream's place.
func (r Reporter) TookOver(info session.Info) {
	r.add(Event{Event: Takeover, Stream: info.Stream, Address: info.Address, Protocol: info.Protocol, Agent: info.Agent, Token: info.Token})
}

// evicted reports whether a viewer was closed because it was slow.
func evicted(reason error) bool {
	return errors.Is(reason, live.ErrSlow) || errors.Is(reason, live.ErrStalled) || errors.Is(reason, live.ErrMemory)
}

// about is an event about a session.
func about(s *session.Client, kind string) Event {
	return Event{Event: kind, Stream: s.Stream, Session: s.ID, Address: s.Address, Protocol: s.Protocol, Agent: s.Agent, Token: s.Token}
}

// RecordBegan reports that a recording has begun, in a file below the directory.
func (r Reporter) RecordBegan(stream, file string) {
	r.add(Event{Event: RecordBegin, Stream: stream, File: file})
}

// RecordEnded reports that a file of a recording has ended.
func (r Reporter) RecordEnded(stream, file string, bytes int64, length time.Duration, why string) {
	ms := length.Milliseconds()
	r.add(Event{Event: RecordEnd, Stream: stream, File: file, Bytes: &bytes, DurationMS: &ms, Reason: why})
}

const (
	// stallAfter is for how long a publisher may send nothing before it has stalled.
	stallAfter = 3 * time.Second
	stallEvery = 500 * time.Millisecond
)

// WatchStalls reports publishers that send nothing and those that send again, until
// ctx is done.
func (r Reporter) WatchStalls(ctx context.Context, sessions *session.Register) {
	w := stalls{report: r, after: stallAfter, list: map[*session.Client]*silence{}}
	var publishers []*session.Client
	tick := time.NewTicker(stallEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			publishers = sessions.AppendRole(publishers[:0], session.RolePublisher)
			w.look(now, publishers)
			clear(publishers)
		case <-ctx.Done():
			return
		}
	}
}

// stalls are the publishers at the latest look.
type stalls struct {
	report Reporter
	after  time.Duration
	looks  int // how many there were
	list   map[*session.Client]*silence
}

// silence is what a publisher has sent, and since when that has not changed.
type silence struct {
	frames  int64
	since   time.Time
	stalled bool
	look    int // the latest at which it was there
}

// look compares the publishers with what they were. It changes what there is for each of
// them in place: with many publishers a new map each time costs more than the rest.
func (w *stalls) look(now time.Time, publishers []*session.Client) {
	w.looks++
	for _, s := range publishers {
		frames := s.Figures().Frames
		q := w.list[s]
		switch {
		case q == nil:
			q = &silence{frames: frames, since: now}
			w.list[s] = q
		case frames != q.frames:
			if q.stalled {
				ms := now.Sub(q.since).Milliseconds()
				v := about(s, Resumed)
				v.DurationMS = &ms
				w.report.add(v)
			}
			*q = silence{frames: frames, since: now}
		case !q.stalled && now.Sub(q.since) >= w.after:
			q.stalled = true
			w.report.add(about(s, Stalled))
		}
		q.look = w.looks
	}
	if len(w.list) > len(publishers) {
		maps.DeleteFunc(w.list, func(_ *session.Client, q *silence) bool { return q.look != w.looks })
	}
}
