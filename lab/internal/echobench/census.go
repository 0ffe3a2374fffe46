package echobench

import (
	"fmt"
	"sync/atomic"
	"time"
)

// A Census is a counter of a server's open connections. Its methods may be
// called from any goroutine; a change costs one atomic addition.
type Census struct {
	open  atomic.Int64
	empty chan struct{}
}

// NewCensus returns a Census that counts zero connections.
func NewCensus() *Census { return &Census{empty: make(chan struct{}, 1)} }

// Opened counts one more.
func (c *Census) Opened() { c.open.Add(1) }

// Closed counts one less.
func (c *Census) Closed() {
	if c.open.Add(-1) == 0 {
		select {
		case c.empty <- struct{}{}:
		default: // it has been said already
		}
	}
}

// Open is how many there are.
func (c *Census) Open() int { return int(c.open.Load()) }

// Drained returns when there is no connection left, or with an error after the
// longest that this may take.
func (c *Census) Drained(longest time.Duration) error {
	end := time.NewTimer(longest)
	defer end.Stop()
	for c.Open() > 0 {
		select {
		case <-c.empty: // maybe of an earlier time
		case <-end.C:
			return fmt.Errorf("echo: %d connections are open %v after the client closed them", c.Open(), longest)
		}
	}
	return nil
}
