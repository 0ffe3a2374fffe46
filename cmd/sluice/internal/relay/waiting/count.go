package waiting

import (
	"context"
	"sync"
)

// A Count is of what has to end before its owner has. Unlike a sync.WaitGroup's it may grow from 0 while
// Wait waits. The zero value is ready for use; it is safe for concurrent use.
type Count struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is 0; nil while no goroutine waits for that
}

// Add adds n, which is negative for what has ended.
func (c *Count) Add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n += n; c.n == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// Wait waits until the count is 0, or returns ctx's error when ctx is done.
func (c *Count) Wait(ctx context.Context) error {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.none == nil {
		c.none = make(chan struct{})
	}
	none := c.none
	c.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
