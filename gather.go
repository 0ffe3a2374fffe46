package sluice

import "github.com/sluice-go/sluice/mem"

// gather is the collecting of bytes that are too many to read into one block
// on somebody's word: block after block is filled and queued, so that what is
// held is what has come, and one block.
type gather struct {
	on   bool
	slab mem.Slab
	n    int // filled of slab
	left int // bytes still wanted
}

// gather brings the window and the queue together to n bytes. What has come
// when that fails is queued, so the call that wanted it can be repeated.
func (b *BufReader) gather(n int) error {
	x := b.extras()
	g := &x.gather
	b.pack()
	for {
		left := n - (b.w - b.r) - x.queued - g.n
		if left <= 0 || g.slab.Valid() && g.n == len(g.slab.Bytes()) {
			b.collect()
			if left <= 0 {
				return nil
			}
			continue
		}
		g.on, g.left = !b.queuing, left
		err := b.pull(left)
		g.on = false
		if err != nil {
			b.collect()
			return err
		}
	}
}

// pack brings what the window has to where it takes little: the block that it
// is in is not to be held for as long as the gathering takes.
func (b *BufReader) pack() {
	have := b.w - b.base()
	switch {
	case !b.slab.Valid() || !b.owned || b.size.pinned > 0:
	case have == 0:
		b.leaveBlock()
	case have <= len(b.buf)/4 && len(b.buf) > minBlock:
		b.stash(have)
	}
}

// collect queues what the slab holds, in a smaller block if that is little.
func (b *BufReader) collect() {
	g := &b.x.gather
	if n := g.n; n > 0 && (n*2 >= len(g.slab.Bytes()) || b.enqueueCopy(g.slab.Bytes()[:n]) != nil) {
		b.x.enqueue(g.slab.Cut(0, n))
	}
	g.drop()
}

func (g *gather) room(b *BufReader) ([]byte, error) {
	if !g.slab.Valid() {
		size := maxBlock
		if n := b.Buffered(); n > 0 && n < maxBlock/2 {
			// With the window's block it is one block, no more.
			size = maxBlock / 2
		}
		if b.size.pinned > 0 {
			size = int(b.size.pinned)
		}
		slab, err := b.alloc.TrySlab(min(size, g.left))
		if err != nil {
			if slab, err = b.alloc.TrySlab(min(firstBlock, g.left)); err != nil {
				return nil, err
			}
		}
		g.slab, g.n = slab, 0
	}
	p := g.slab.Bytes()
	end := min(len(p), g.n+g.left)
	return p[g.n:end:end], nil
}

// idle gives an empty slab back before a wait.
func (g *gather) idle() {
	if g.n == 0 {
		g.drop()
	}
}

func (g *gather) drop() {
	if g.slab.Valid() {
		g.slab.Release()
	}
	g.n = 0
}
