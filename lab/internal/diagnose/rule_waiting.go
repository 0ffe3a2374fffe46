package diagnose

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// syncedFiles: the workload waits for disks.
func syncedFiles(s *sight) Finding {
	t := s.Trace
	if t == nil || t.Took <= 0 {
		return Finding{}
	}
	sum, calls, top := longest(t.InSyscall, func(b *evidence.Blocking) bool { return through(b.Frames, isFileSync) })
	if sum == 0 {
		return Finding{}
	}
	part := min(1, sum.Seconds()/t.Took.Seconds())
	return Finding{
		Tool: evidence.ToolTrace, Top: top, Share: part,
		// Half: durability has its price, but several can share one.
		Score: part / 2,
		Clue:  fmt.Sprintf("%s of the time somebody was in fsync: %s calls of %s", units.Percent(part), units.Count(calls), units.Time(sum/time.Duration(max(calls, 1)))),
		Try:   "group commit: one fsync for all records that came while the last one was under way; or say which records need not be durable at once",
	}
}

// sleeping: a goroutine sleeps while little else happens.
func sleeping(s *sight) Finding {
	t := s.Trace
	if t == nil || t.Took <= 0 {
		return Finding{}
	}
	sum, calls, top := longest(t.Blocked, func(b *evidence.Blocking) bool { return b.Reason == "sleep" })
	if sum == 0 {
		return Finding{}
	}
	part := min(1, sum.Seconds()/t.Took.Seconds())
	return Finding{
		Tool: evidence.ToolTrace, Top: top, Share: part,
		// Half: many sleep because there is nothing to do.
		Score: part * (1 - s.busy) / 2,
		Clue:  fmt.Sprintf("asleep for %s of the time: %s times, for %s", units.Percent(part), units.Count(calls), units.Time(sum/time.Duration(max(calls, 1)))),
		Try:   "wait for the event (a channel, a condition, a deadline on the connection) instead of asking again after a while",
	}
}

// longest adds up the places that f picks and names the one with most time.
func longest(list []evidence.Blocking, f func(*evidence.Blocking) bool) (sum time.Duration, calls int64, top string) {
	var most time.Duration
	for i := range list {
		b := &list[i]
		if !f(b) {
			continue
		}
		sum += b.Time
		calls += b.Count
		if b.Time > most {
			most = b.Time
			fr, _ := own(b.Frames)
			top = place(fr)
		}
	}
	return sum, calls, top
}

// longWait is how long a runnable goroutine may wait before the rule reports it.
const longWait = 2 * time.Millisecond

// runQueue: more goroutines want to run than there are processors. It is a
// hint: the cause is among the other findings.
func runQueue(s *sight) Finding {
	t := s.Trace
	if t == nil || t.Latency.P99 < longWait || t.Running+t.Runnable <= 0 {
		return Finding{}
	}
	part := t.Runnable.Seconds() / (t.Running + t.Runnable).Seconds()
	return Finding{
		Tool: evidence.ToolTrace, Top: "runnable", Share: part, Score: 0.15 * part,
		Clue: fmt.Sprintf("goroutines that could run waited for a processor: %s at the 99th percentile, %s at most, on %d processors",
			units.Time(t.Latency.P99), units.Time(t.Latency.Max), t.Procs),
		Try: "fewer goroutines that compute at the same time, or more processors; a limit on what is let in",
	}
}
