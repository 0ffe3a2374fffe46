package aio

import (
	"fmt"
	"time"
)

// The reasons for which a limit of the ConnHandler closes a connection. All match ErrDeadline, and
// say which limit it was.

func late(what string, limit time.Duration) error {
	return fmt.Errorf("%w: %s for %v", ErrDeadline, what, limit)
}

// silent is the reason for a read that took too long.
func (c *Conn[S]) silent() error {
	if c.secure != nil && c.secure.early {
		return c.shaking()
	}
	return late("the peer was silent", c.idle)
}

func (c *Conn[S]) shaking() error {
	return late("the TLS handshake has been under way", c.loop.calls.handshake)
}

// starving is the reason for a wait for memory that took too long.
func (c *Conn[S]) starving() error {
	if !c.opened {
		return c.shaking()
	}
	return late("the budget had no memory to read into", c.idle)
}

// unsent is the reason when writes ended with err.
func (c *Conn[S]) unsent(err error) error {
	if err != ErrDeadline {
		return err
	}
	return late(fmt.Sprintf("writes of %d bytes of memory have waited for the peer", c.held()), c.loop.calls.write)
}

// limitHandshake ends c when its handshake takes too long, which no read does: the peer has ended its
// side, or has said as much as is kept, and that is still looked at, or waits for it.
func (c *Conn[S]) limitHandshake() {
	if c.secure.limit != nil {
		return
	}
	c.secure.limit = time.AfterFunc(time.Until(c.secure.until), func() {
		_ = c.Do(func() {
			if !c.opened {
				c.finish(c.shaking())
			}
		})
	})
}
