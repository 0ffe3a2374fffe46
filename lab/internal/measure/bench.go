package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

// probeTime is how long an unrecorded run of the baseline must be in order to
// say what an operation costs: a hundred times what a clock and a stray interrupt
// add.
const probeTime = time.Millisecond

const noRound = "interrupted before the first round was complete"

type bench struct {
	scenario *lab.Scenario
	outcome  *Outcome
	settings Settings
	share    time.Duration
	deadline time.Time // of all scenarios
	env      lab.Env
	dir      string
	began    time.Time
	open     []opened // the variants that run on this machine
	base     int      // index in open
	recorded func()   // is called after each round
	meter    proc.Meter
}

type opened struct {
	index  int // in the scenario and the outcome
	name   string
	runner lab.Runner
}

func (b *bench) run(ctx context.Context) {
	b.began = time.Now()
	err := os.Mkdir(b.dir, 0o700)
	if err == nil {
		defer os.RemoveAll(b.dir)
		err = b.measure(ctx)
		err = errors.Join(err, b.close())
	}
	o := b.outcome
	o.Seconds = time.Since(b.began).Seconds()
	var stop *stopError
	switch {
	// A signal reaches child processes too, and what they then do to
	// their runners is no failure.
	case ctx.Err() != nil && o.Rounds > 0:
		o.State, o.Reason = Partial, "interrupted"
	case ctx.Err() != nil:
		o.drop(Skipped, noRound)
	case errors.As(err, &stop):
		o.drop(stop.state, stop.reason)
	case err != nil:
		o.drop(Failed, err.Error())
	default:
		o.State, o.Reason = Done, ""
	}
}

func (b *bench) measure(ctx context.Context) error {
	if err := b.openAll(ctx); err != nil {
		return err
	}
	ops, rounds := b.scenario.Ops, b.settings.MaxRounds
	if !b.scenario.Fixed {
		c, err := b.probe(ctx)
		if err != nil {
			return err
		}
		ops, rounds = b.settings.plan(c, max(0, b.share-time.Since(b.began)))
	}
	b.outcome.Ops = ops

	order := newOrder(b.env.Seed, b.scenario.Name, len(b.open))
	for n := range rounds {
		if n > 0 && b.outOfTime(n) {
			break
		}
		calls, err := b.round(ctx, order.next(), ops)
		if err != nil {
			return err
		}
		for i, v := range b.open {
			variant := &b.outcome.Variants[v.index]
			variant.Calls = append(variant.Calls, calls[i])
		}
		b.outcome.Rounds++
		b.recorded()
	}
	return nil
}

// outOfTime reports whether another round would go beyond the share, judging by
// the n that are done, and whether it is allowed to stop here.
func (b *bench) outOfTime(n int) bool {
	spent := time.Since(b.began)
	next := spent / time.Duration(n) // an overestimate by the set-up's part
	if b.scenario.Fixed {
		// Nothing else bounds the rounds of these.
		return spent+next > b.share && n >= b.settings.MinFixed
	}
	if b.settings.Hard && time.Now().After(b.deadline) {
		return true
	}
	return spent > b.share+b.share/2 && n >= b.settings.MinRounds
}

// openAll opens the variants. One that returns an errors.ErrUnsupported is left
// out, unless it is the baseline, without which there is nothing to say.
func (b *bench) openAll(ctx context.Context) error {
	b.base = -1
	for i, v := range b.scenario.Variants {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		env := b.env
		env.Dir = filepath.Join(b.dir, fmt.Sprint(i))
		if err := os.Mkdir(env.Dir, 0o700); err != nil {
			return err
		}
		runner, err := v.Open(env)
		if errors.Is(err, errors.ErrUnsupported) {
			if v.Name == b.scenario.Baseline {
				return &stopError{Skipped, fmt.Sprintf("the baseline %s: %v", v.Name, err)}
			}
			b.outcome.Variants[i].Skipped = err.Error()
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: open: %w", v.Name, err)
		}
		if v.Name == b.scenario.Baseline {
			b.base = len(b.open)
		}
		b.open = append(b.open, opened{i, v.Name, runner})
	}
	return nil
}

// probe calls all variants with growing numbers of operations, the same for
// all, until the baseline's run is long enough to show what one costs. The
// first pass runs with cold caches and does not count.
func (b *bench) probe(ctx context.Context) (cost, error) {
	began := time.Now()
	ops := max(1, b.scenario.Ops/warmUpShare)
	for pass := 0; ; pass++ {
		c := cost{variants: len(b.open)}
		for i := range b.open {
			if ctx.Err() != nil {
				return cost{}, ctx.Err()
			}
			start := time.Now()
			if _, err := b.call(i, ops); err != nil {
				return cost{}, err
			}
			perOp := max(time.Since(start), 1).Seconds() / float64(ops)
			if i == b.base {
				c.base = perOp
			}
			c.all += perOp
		}
		short := c.base*float64(ops) < probeTime.Seconds() && ops < 1<<28
		if (short || pass == 0) && time.Since(began) < b.share/8 {
			if short {
				ops *= 4
			}
			continue
		}
		start := time.Now()
		runtime.GC()
		c.round = time.Since(start).Seconds() * float64(len(b.open))
		return c, nil
	}
}

// round runs every variant once, in the given order of indexes, and returns
// one Call for each, by index.
func (b *bench) round(ctx context.Context, order []int, ops int) ([]Call, error) {
	calls := make([]Call, len(b.open))
	for place, i := range order {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		runtime.GC()
		if warm := ops / warmUpShare; warm > 0 && !b.scenario.Fixed {
			if _, err := b.call(i, warm); err != nil {
				return nil, err
			}
		}
		before, began := b.meter.Read(), time.Now()
		sample, err := b.call(i, ops)
		wall, used := time.Since(began), before.To(b.meter.Read())
		if err != nil {
			return nil, err
		}
		calls[i] = record(place, wall, Figures(ops, wall, used), sample)
	}
	return calls, b.equal(calls, ops)
}

func (b *bench) equal(calls []Call, ops int) error {
	base := calls[b.base]
	for i, call := range calls {
		if call.Bytes != base.Bytes || call.Check != base.Check {
			return &stopError{Invalid, fmt.Sprintf(
				"not the same work in %d operations: %s consumed %d bytes with sum %#x, %s %d bytes with sum %#x",
				ops, b.open[i].name, call.Bytes, call.Check, b.open[b.base].name, base.Bytes, base.Check)}
		}
	}
	return nil
}

func (b *bench) call(i, ops int) (lab.Sample, error) {
	sample, err := b.open[i].runner.Run(ops)
	if err != nil {
		err = fmt.Errorf("%s: %w", b.open[i].name, err)
	}
	return sample, err
}

func (b *bench) close() error {
	var errs []error
	for _, v := range b.open {
		if err := v.runner.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: close: %w", v.name, err))
		}
	}
	b.open = nil
	return errors.Join(errs...)
}

type stopError struct {
	state  State
	reason string
}

func (e *stopError) Error() string { return e.reason }

// MBPerS is payload per second of wall time, in units of 1,000,000 bytes. It is
// recorded when a run consumed bytes; more is better, unlike everything else.
const MBPerS = "MB/s"

// Figures are those of operations that took so long and used so much.
func Figures(ops int, wall time.Duration, used proc.Work) map[string]float64 {
	n := float64(ops)
	return map[string]float64{
		lab.NsPerOp:     float64(wall.Nanoseconds()) / n,
		lab.CPUPerOp:    float64(used.CPU.Nanoseconds()) / n,
		lab.AllocsPerOp: float64(used.Mallocs) / n,
		lab.BytesPerOp:  float64(used.Bytes) / n,
		lab.GCRuns:      float64(used.GCs),
	}
}

// record puts the measured figures and the runner's own together; the
// runner's win. Figures that are no finite numbers are left out.
func record(place int, wall time.Duration, measured map[string]float64, sample lab.Sample) Call {
	call := Call{Place: place, Bytes: sample.Bytes, Check: sample.Check, Figures: measured}
	if sample.Bytes > 0 && wall > 0 {
		call.Figures[MBPerS] = float64(sample.Bytes) / 1e6 / wall.Seconds()
	}
	for name, value := range sample.Figures {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			delete(call.Figures, name)
			continue
		}
		call.Figures[name] = value
	}
	return call
}
