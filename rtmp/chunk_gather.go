package rtmp

import (
	"fmt"

	"github.com/sluice-go/sluice/mem"
)

const (
	// firstGather is the least memory that an unfinished message is given.
	firstGather = 512
	// freeGather is what a connection may hold for unfinished messages beyond
	// twice what has arrived.
	freeGather = 4096
	// leastHold is from how many bytes on Limits.Hold is called: what connections have
	// below that is bounded by their number.
	leastHold = 64 << 10
)

// gather reads the rest of the chunk in hand into the message's memory.
func (c *ChunkReader) gather(cs *chunkStream) error {
	if err := c.roomFor(cs, c.left); err != nil {
		return err
	}
	for c.left > 0 {
		if !cs.slab.Valid() || cs.have == len(cs.slab.Bytes()) {
			// Not before there is a byte for it: headers alone take nothing.
			if _, err := c.r.Peek(1); err != nil {
				return inside(err)
			}
			if err := c.grow(cs); err != nil {
				return err
			}
		}
		p := cs.slab.Bytes()
		n, err := c.r.Read(p[cs.have:min(len(p), cs.have+c.left)])
		cs.have += n
		c.left -= n
		c.unfinished += n
		if err != nil && c.left > 0 {
			return inside(err)
		}
	}
	return nil
}

// roomFor says why n more bytes for cs would be too many.
func (c *ChunkReader) roomFor(cs *chunkStream, n int) error {
	most := c.limits.Unfinished
	if c.confined {
		most = min(most, c.limits.Command)
	}
	if sum := c.unfinished + n; sum > most {
		return fmt.Errorf("%w: chunk stream %d: unfinished messages of %d bytes, at most %d", ErrTooLong, cs.id, sum, most)
	}
	return nil
}

// hold calls Limits.Hold when unfinished messages take, or are about to take, n bytes.
func (c *ChunkReader) hold(n int) error {
	if n < leastHold {
		n = 0
	}
	if c.limits.Hold == nil || n == c.holding {
		return nil
	}
	c.holding = n
	return c.limits.Hold(n)
}

// letGo is hold after an unfinished message is no more.
func (c *ChunkReader) letGo() {
	if c.holding > 0 {
		_ = c.hold(c.held) // less is no error
	}
}

// grow makes room for more of cs. A message gets twice what it has. Where the
// whole connection stays below twice of what has arrived it gets what the
// buffered bytes may need as well, so that a message whose chunks are there is
// moved once.
func (c *ChunkReader) grow(cs *chunkStream) error {
	own := 0
	if cs.slab.Valid() {
		own = len(cs.slab.Bytes())
	}
	size := max(firstGather, 2*cs.have)
	ahead := c.r.Buffered()
	if want := 2 * (cs.have + ahead); want > size && c.held-own+want <= 2*(c.unfinished+ahead)+freeGather {
		size = want
	}
	size = min(size, cs.length)
	if err := c.hold(c.held - own + size); err != nil {
		return err
	}
	slab, err := c.alloc.TrySlab(size)
	if err != nil {
		return err
	}
	if cs.slab.Valid() {
		copy(slab.Bytes(), cs.slab.Bytes()[:cs.have])
		cs.slab.Release()
	}
	c.held += len(slab.Bytes()) - own
	cs.slab = slab
	return c.hold(c.held) // a slab may be longer than what was asked for
}

// take returns the gathered message, retained.
func (c *ChunkReader) take(cs *chunkStream) mem.Buf {
	payload := cs.slab.Cut(0, cs.length)
	c.drop(cs)
	return payload
}

// drop forgets what was gathered of cs's message.
func (c *ChunkReader) drop(cs *chunkStream) {
	if cs.slab.Valid() {
		c.held -= len(cs.slab.Bytes())
		c.unfinished -= cs.have
		cs.slab.Release()
	}
	c.close(cs)
}
