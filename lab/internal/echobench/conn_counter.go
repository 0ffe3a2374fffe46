package echobench

import (
	"fmt"
	"sync/atomic"
	"time"
)

// A ConnCounter is a counter of a server's open connections. Its methods may be
// called from any goroutine; a change costs one atomic addition.
type ConnCounter struct{ open atomic.Int64 }

// Opened counts one more.
func (c *ConnCounter) Opened() { c.open.Add(1) }

// Closed counts one less.
func (c *ConnCounter) Closed() { c.open.Add(-1) }

// Open is how many there are.
func (c *ConnCounter) Open() int { return int(c.open.Load()) }

// Drained returns when there is no connection left, or with an error after the
// longest that this may take.
func (c *ConnCounter) Drained(longest time.Duration) error {
	for end := time.Now().Add(longest); c.Open() > 0; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			return fmt.Errorf("echo: %d connections are open %v after the client closed them", c.Open(), longest)
		}
	}
	return nil
}
