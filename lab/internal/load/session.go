package load

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/lab/internal/sink/acked"
)

// A session is one run: what all its connections share. Times are nanoseconds
// since base.
type session struct {
	plan      *Plan
	targets   []*wire.Target
	content   *wire.Content
	base      time.Time
	start     int64 // of what is measured
	end       int64
	late      int64 // how late a send may be
	recorders []*recorder
	dial      func(ctx context.Context, target string) (net.Conn, error) // nil for the targets' own
	ackFile   *os.File                                                   // nil without one, and before the session begins
	acks      *acked.Writer                                              // to ackFile
	begun     func()                                                     // called when the time begins to count

	redials atomic.Uint64
	resent  atomic.Uint64
	failed  atomic.Uint64
	mu      sync.Mutex
	first   error // that came up
}

// begin starts the clock, once all connections are open. It creates the file of
// acknowledgements only now, since that may replace the file of an earlier run.
func (s *session) begin() error {
	if name := s.plan.AckFile; name != "" {
		var err error
		if s.ackFile, err = os.Create(name); err != nil {
			return fmt.Errorf("load: the file of acknowledgements: %w", err)
		}
		s.acks = acked.NewWriter(s.ackFile)
	}
	s.base = time.Now()
	if s.begun != nil {
		s.begun()
	}
	return nil
}

func (s *session) now() int64 { return int64(time.Since(s.base)) }

// drained returns when the run stops waiting for answers. Requests that were due before
// the end are sent, and their answers awaited, after it as well; otherwise the longest
// latencies would be missing.
func (s *session) drained() int64 { return s.end + int64(min(s.plan.Timeout, maxDrain)) }

const maxDrain = 10 * time.Second

func (s *session) fault(err error, requests int) {
	s.failed.Add(uint64(max(1, requests)))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = err
	}
}

func (s *session) connect(ctx context.Context, i int) (net.Conn, error) {
	ctx, stop := context.WithTimeout(ctx, s.plan.Timeout)
	defer stop()
	target := s.targets[i%len(s.targets)]
	if s.dial != nil {
		return s.dial(ctx, target.Name)
	}
	return target.Dial(ctx)
}

func (s *session) pipeline(number int) *pipeline {
	target := s.targets[number%len(s.targets)]
	return newPipeline(s.plan, number, target.Reopen, func() wire.Protocol {
		return target.Protocol(string(s.plan.Protocol), s.content, s.plan.Verify)
	})
}

func (s *session) recorder() *recorder {
	p := s.plan
	r := &recorder{
		start: s.start, end: s.end, open: p.Rate > 0, latency: newHistogram(),
		due: windows{every: dueEvery(p), digits: dueDigits}, jitter: windows{every: JitterEvery(p), digits: jitterDigits},
	}
	if r.open {
		r.service = newHistogram()
	}
	s.recorders = append(s.recorders, r)
	return r
}

// Delay before a failed connection is tried again, doubled each time.
const (
	firstBackoff = 10 * time.Millisecond
	lastBackoff  = 500 * time.Millisecond
)

func backoff(tries int) time.Duration {
	return min(lastBackoff, firstBackoff<<min(tries, 10))
}

type tally struct {
	sent   float64 // requests that were due in the time measured, and were sent
	late   float64 // of those, by the generator's own fault
	missed float64 // that were due, and were not sent
	busy   float64 // part of the time that the busiest thread did not wait for the target
}

func (t *tally) add(other tally) {
	t.sent += other.sent
	t.late += other.late
	t.missed += other.missed
	t.busy = max(t.busy, other.busy)
}

func (t *tally) count(s *session, r *request, late int64) {
	switch {
	case r.intended < s.start || r.intended >= s.end:
	case r.sent >= s.end+s.late:
		t.missed++
	default:
		t.sent++
		if late > s.late {
			t.late++
		}
	}
}

// tolerable is the share of sends that may be late, or missing, before a run is
// invalid.
const tolerable = 0.05

// done reports whether a pipeline has nothing more to send. After the end, requests that were
// due before it are still sent, unless so many are missing that the run is invalid.
func (s *session) done(l *pipeline, now int64) bool {
	if l.schedule == nil {
		return now >= s.end
	}
	if l.due >= s.end || now >= s.drained() {
		return true
	}
	if now < s.end {
		return false
	}
	all := s.plan.Rate * s.plan.Duration.Seconds() / float64(s.plan.Conns)
	return l.missed(s.end, s.plan) > max(1, tolerable*all)
}
