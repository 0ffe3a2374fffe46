package scenarios

import (
	"errors"
	"slices"
	"sync"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// A crew is a worker pool. Its goroutines work at the same time and wait between
// rounds, so that a round neither starts goroutines nor allocates.
type crew struct {
	jobs  []chan int // how many operations to do
	work  func(worker, ops int) error
	errs  []error
	round sync.WaitGroup
	gone  sync.WaitGroup
}

// newCrew starts n workers. Worker i calls work from its own goroutine, with the
// number of operations of its part of a round.
func newCrew(n int, work func(worker, ops int) error) *crew {
	c := &crew{jobs: make([]chan int, n), work: work, errs: make([]error, n)}
	for i := range c.jobs {
		c.jobs[i] = make(chan int, 1)
		c.gone.Go(func() {
			for ops := range c.jobs[i] {
				c.errs[i] = c.work(i, ops)
				c.round.Done()
			}
		})
	}
	return c
}

// run shares ops among the workers, the first taking what is left over, and
// waits for all of them.
func (c *crew) run(ops int) error {
	c.round.Add(len(c.jobs))
	part := ops / len(c.jobs)
	c.jobs[0] <- ops - part*(len(c.jobs)-1)
	for _, jobs := range c.jobs[1:] {
		jobs <- part
	}
	return c.wait()
}

// begin gives each worker a round of n and does not wait.
func (c *crew) begin(n int) {
	c.round.Add(len(c.jobs))
	for _, jobs := range c.jobs {
		jobs <- n
	}
}

// wait returns when all workers have done the round that was begun.
func (c *crew) wait() error {
	c.round.Wait()
	return errors.Join(c.errs...)
}

// stop ends the workers, who must not be in a round, and waits for them. It returns nil.
func (c *crew) stop() error {
	for _, jobs := range c.jobs {
		close(jobs)
	}
	c.gone.Wait()
	return nil
}

// A fleet runs walkers in a worker pool, each on a source of its own.
type fleet struct {
	walkers []*walker
	spacers []*walker // keep the walkers apart in memory; they do nothing
	samples []lab.Sample
	crew    *crew
}

func newFleet(walkers []*walker) *fleet {
	f := &fleet{walkers: walkers, samples: make([]lab.Sample, len(walkers))}
	f.crew = newCrew(len(walkers), func(i, ops int) (err error) {
		f.samples[i], err = f.walkers[i].Run(ops)
		return err
	})
	return f
}

func (f *fleet) Run(ops int) (lab.Sample, error) {
	if err := f.crew.run(ops); err != nil {
		return lab.Sample{}, err
	}
	var sum lab.Sample
	for _, s := range f.samples {
		sum.Bytes += s.Bytes
		sum.Check += s.Check
	}
	return sum, nil
}

func (f *fleet) Close() error {
	f.crew.stop()
	var errs []error
	for _, w := range slices.Concat(f.walkers, f.spacers) {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}
