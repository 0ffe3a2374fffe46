package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-go/sluice/lab/internal/proc"
	"github.com/sluice-go/sluice/lab/internal/stats"
)

const (
	// scalingTurns is how often each number of processors is measured. The order of
	// the two changes, so that a machine that slows down meanwhile slows both.
	scalingTurns = 6
	// fewestTurns is how many there are at least when rounds are long.
	fewestTurns = 3
	// crowdedTurns multiplies scalingTurns when other processes use the processors
	// so much that few rounds count.
	crowdedTurns = 3
	// roundTakes is how long a round is about, where its length is free: less than
	// a scheduler's slice, so that on a busy machine the workload has all its
	// processors for the whole of some.
	roundTakes = time.Millisecond
	// mostRounds bounds how many are booked.
	mostRounds = 20_000
)

// underScaling runs rounds on one processor and on all, alternating, and records
// each separately.
func underScaling(l *loop, j job) (outcome, error) {
	if j.procs < 2 {
		return outcome{}, fmt.Errorf("evidence: GOMAXPROCS is %d: there is nothing to compare with 1", j.procs)
	}
	var sum outcome
	sum.Before = hurry()
	if err := l.shortRounds(j); err != nil {
		return outcome{}, err
	}
	slice := j.time / (2 * scalingTurns)
	began := time.Now()
	most := j.time + j.time/2
	before, beforeErr := proc.Read(0)
	for turn := range crowdedTurns * scalingTurns {
		if turn >= scalingTurns || turn >= fewestTurns && time.Since(began) > most {
			now, err := proc.Read(0)
			if errors.Join(beforeErr, err) != nil || !crowded(before.To(now)) || time.Since(began) > crowdedTurns*most {
				break
			}
		}
		spread(turn%2 == 1)
		order := []int{1, j.procs}
		if turn%4 >= 2 {
			order = []int{j.procs, 1}
		}
		for _, procs := range order {
			runtime.GOMAXPROCS(procs)
			// The first part shows what goroutines moving about costs.
			if err := l.rounds(slice/8, func(time.Duration, time.Duration) {}); err != nil {
				return outcome{}, err
			}
			err := l.rounds(slice*7/8, func(wall, cpu time.Duration) {
				if len(sum.Procs) >= mostRounds || wall <= 0 {
					return
				}
				sum.Procs = append(sum.Procs, procs)
				sum.PerSec = append(sum.PerSec, float64(l.ops)/wall.Seconds())
				sum.PerOp = append(sum.PerOp, float64(cpu.Nanoseconds())/float64(l.ops))
				sum.Ops += int64(l.ops)
				sum.Wall += wall
				sum.CPU += cpu
			})
			if err != nil {
				return outcome{}, err
			}
		}
	}
	return sum, nil
}

// crowded reports whether a process waited for processors more than a third of its CPU time.
func crowded(s proc.Spent) bool { return s.Queued != nil && *s.Queued > s.CPU/3 }

// shortRounds makes rounds about as long as roundTakes.
func (l *loop) shortRounds(j job) error {
	if j.fixed {
		return nil
	}
	var took time.Duration
	for range 3 { // the shortest: others may have had the processor
		at := time.Now()
		if err := l.round(); err != nil {
			return err
		}
		if d := time.Since(at); took == 0 || d < took {
			took = d
		}
	}
	if took > roundTakes {
		l.ops = max(1, int(float64(l.ops)*float64(roundTakes)/float64(took)))
	}
	return nil
}

// rounds runs rounds for a time, at least one, and passes what each took to each.
func (l *loop) rounds(d time.Duration, each func(wall, cpu time.Duration)) error {
	clock := newCPUClock()
	for began := time.Now(); ; {
		if l.parent.stopped.Load() {
			return errors.New("evidence: stopped")
		}
		at, cpu := time.Now(), clock.now()
		if err := l.round(); err != nil {
			return err
		}
		each(time.Since(at), max(0, clock.now()-cpu))
		if time.Since(began) >= d {
			return nil
		}
	}
}

// A pace is how fast a round was with so many processors.
type pace struct{ perSec, perOp float64 }

// busy is how many processors it had, on average, times 1e9.
func (p pace) busy() float64 { return p.perSec * p.perOp }

// scalingOf makes one figure of the rounds of each number of processors: the
// median of that hundredth of them in which the workload had most processor time.
// When others have the processors its goroutines do not run at the same time,
// and the round says nothing about what they share.
func scalingOf(out outcome) *Scaling {
	by := make(map[int][]pace)
	for i, procs := range out.Procs {
		if i < len(out.PerSec) && i < len(out.PerOp) {
			by[procs] = append(by[procs], pace{out.PerSec[i], out.PerOp[i]})
		}
	}
	s := &Scaling{Procs: slices.Sorted(maps.Keys(by)), OpsPerSec: []float64{}}
	for _, procs := range s.Procs {
		all := by[procs]
		slices.SortStableFunc(all, func(a, b pace) int { return cmp.Compare(b.busy(), a.busy()) })
		var perSec, perOp []float64
		for _, p := range all[:min(len(all), max(3, len(all)/100))] {
			perSec, perOp = append(perSec, p.perSec), append(perOp, p.perOp)
		}
		s.OpsPerSec = append(s.OpsPerSec, stats.Median(perSec))
		s.CPUPerOp = append(s.CPUPerOp, stats.Median(perOp))
	}
	return s
}
