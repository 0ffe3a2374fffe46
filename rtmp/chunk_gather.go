package rtmp

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/hooks"
	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/mem"
)

// What the reader offers to protocols that hold memory beside its own.
var (
	holdBeside  = hooks.HoldBeside.(func(b *sluice.BufReader, held int))
	awaitBeside = hooks.AwaitBeside.(func(b *sluice.BufReader, n int) (mem.Slab, error))
	budget      = hooks.Budget.(func(a *mem.Allocator) (limit int64, pressed bool))
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
	least := max(firstGather, 2*cs.have)
	size, ahead := least, c.r.Buffered()
	if want := 2 * (cs.have + ahead); want > size && c.held-own+want <= 2*(c.unfinished+ahead)+freeGather {
		size = want
	}
	slab, err := c.room(cs, own, min(size, cs.length), min(least, cs.length))
	if err != nil {
		return err
	}
	if cs.slab.Valid() {
		copy(slab.Bytes(), cs.slab.Bytes()[:cs.have])
		cs.slab.Release()
	}
	c.keep(len(slab.Bytes()) - own)
	cs.slab = slab
	return c.hold(c.held) // a slab may be longer than what was asked for
}

// room returns size bytes in place of own that cs has, or least when the budget has no more. If
// it has less it waits, as the reader does, and once for all of the message, up to what a reader takes before
// bytes have come: one that waited for each step would hold what it has all that time.
func (c *ChunkReader) room(cs *chunkStream, own, size, least int) (mem.Slab, error) {
	if limit, _ := budget(c.alloc); limit > 0 && int64(c.alloc.Cap(cs.length)) > limit {
		return c.alloc.TrySlab(cs.length) // never fits: ErrBudget
	}
	if err := c.hold(c.held - own + size); err != nil {
		return mem.Slab{}, err
	}
	slab, err := c.alloc.TrySlab(size)
	if err != nil && least < size {
		slab, err = c.alloc.TrySlab(least)
	}
	if !errors.Is(err, mem.ErrBudget) {
		return slab, err
	}
	whole := min(cs.length, max(least, sizing.MaxBlock))
	if err := c.hold(c.held - own + whole); err != nil {
		return mem.Slab{}, err
	}
	return awaitBeside(c.r, whole)
}

// keep counts n bytes of memory more, or less, for unfinished messages.
func (c *ChunkReader) keep(n int) {
	c.held += n
	holdBeside(c.r, c.held)
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
		c.keep(-len(cs.slab.Bytes()))
		c.unfinished -= cs.have
		cs.slab.Release()
	}
	c.close(cs)
}
