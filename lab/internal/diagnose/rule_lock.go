package diagnose

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// lockOverIO: goroutines wait for a lock whose holder waits for I/O.
func lockOverIO(s *sight) Finding {
	best, f := 0.0, Finding{}
	queues, took := s.queues()
	for _, q := range queues {
		score := q.blocked(took) * q.inIO()
		if score <= best {
			continue
		}
		best = score
		f = s.locked(q, took)
		f.Score = score
		f.Clue += fmt.Sprintf("; for %s of that whoever held the %s was in I/O", units.Percent(q.inIO()), q.kind())
		f.Try = "hold the lock around the state only: take what is needed, unlock, then read or write; a lock for each connection, or one goroutine that owns it, where calls must not mix"
	}
	return f
}

// lockContention: goroutines wait for a lock whose holder works.
func lockContention(s *sight) Finding {
	best, f := 0.0, Finding{}
	queues, took := s.queues()
	for _, q := range queues {
		score := q.blocked(took) * (1 - q.inIO())
		if score <= best {
			continue
		}
		best = score
		f = s.locked(q, took)
		f.Score = score
		f.Try = "do less while the lock is held; a lock for each part of the data; atomic values or a copy for each goroutine where only sums are asked for"
	}
	// Half, since another goroutine works while one waits.
	f.Score = best / 2
	return f
}

// locked says who waits where.
func (s *sight) locked(q *queue, took time.Duration) Finding {
	f := Finding{Tool: evidence.ToolTrace, Top: place(q.place), Share: q.blocked(took)}
	if q.plain {
		f.Tool = evidence.ToolLocks
	}
	f.Clue = fmt.Sprintf("blocked %s in %s: %.1f goroutines waited for the %s at any time", units.Percent(f.Share), short(q.place.Func),
		q.time.Seconds()/took.Seconds(), q.kind())
	if q.plain {
		f.Clue += " (without the trace, who held it is a guess)"
	}
	return f
}

func (q *queue) kind() string {
	if q.channel {
		return "channel"
	}
	return "lock"
}
