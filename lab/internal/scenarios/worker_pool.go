package scenarios

import (
	"errors"
	"sync"
)

// A workerPool has goroutines that work at the same time and wait between
// rounds, so that a round neither starts goroutines nor allocates.
type workerPool struct {
	jobs  []chan int // how many operations to do
	work  func(worker, ops int) error
	errs  []error
	round sync.WaitGroup
	gone  sync.WaitGroup
}

// newWorkerPool starts n workers. Worker i calls work from its own goroutine, with the
// number of operations of its part of a round.
func newWorkerPool(n int, work func(worker, ops int) error) *workerPool {
	c := &workerPool{jobs: make([]chan int, n), work: work, errs: make([]error, n)}
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
func (c *workerPool) run(ops int) error {
	c.round.Add(len(c.jobs))
	part := ops / len(c.jobs)
	c.jobs[0] <- ops - part*(len(c.jobs)-1)
	for _, jobs := range c.jobs[1:] {
		jobs <- part
	}
	return c.wait()
}

func (c *workerPool) begin(n int) {
	c.round.Add(len(c.jobs))
	for _, jobs := range c.jobs {
		jobs <- n
	}
}

func (c *workerPool) wait() error {
	c.round.Wait()
	return errors.Join(c.errs...)
}

// stop ends the workers, who must not be in a round, and waits for them. It returns nil.
func (c *workerPool) stop() error {
	for _, jobs := range c.jobs {
		close(jobs)
	}
	c.gone.Wait()
	return nil
}
