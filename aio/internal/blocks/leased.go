package blocks

import (
	"sync"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// Leased is memory that reads without a buffer have been lent until the next WaitIO.
// Room, Keep, End and EndAll are for the goroutine in WaitIO; the others for any.
type Leased struct {
	From *mem.Allocator
	Most int    // for one read, in bytes
	free []byte // of the last block

	mu     sync.Mutex // comes after all others
	blocks []mem.Buf
	// Blocks that a write has used beyond their time. The
	// write completes in the WaitIO that follows, and its buffer is seen until the next.
	used, ending []mem.Buf
}

const (
	// blockSize is what a Leased takes at a time: reading in pieces of 64 KiB costs
	// no more per byte than in larger ones.
	blockSize = 64 << 10
	// leaseLimit bounds what the reads of one WaitIO are lent together. What more
	// connections have sent stays in the kernel until the next; a batch should
	// fit into the processor's cache, and no storm make the process larger.
	leaseLimit = 1 << 20
	// SmallRoom is the least that is worth reading into, when a read may take more.
	SmallRoom = 4 << 10
)

// Room returns at least so much memory to read into, borrowed until Keep or the
// next Room. It returns nil when the limit is reached.
func (l *Leased) Room(least int) []byte {
	if len(l.free) < min(l.Most, least) {
		if len(l.blocks)*max(l.Most, blockSize) >= max(leaseLimit, l.Most) {
			return nil
		}
		b := l.From.Get(max(l.Most, blockSize))
		l.free = b.Bytes()
		l.mu.Lock()
		l.blocks = append(l.blocks, b) //sluice:moved
		l.mu.Unlock()
	}
	return l.free[:min(len(l.free), l.Most)]
}

// Keep lends out the first n bytes of the last Room.
func (l *Leased) Keep(n int) []byte {
	p := l.free[:n:n]
	l.free = l.free[n:]
	return p
}

// Spare gives up the memory of reads that have come to nothing. Nothing may be lent
// since End.
func (l *Leased) Spare() {
	if len(l.blocks) == 0 {
		return
	}
	l.free = nil
	l.mu.Lock()
	l.blocks = releaseAll(l.blocks)
	l.mu.Unlock()
}

// End takes everything back, except what writes still need.
func (l *Leased) End() {
	l.free = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocks = releaseAll(l.blocks)
	l.ending = releaseAll(l.ending)
	l.used, l.ending = l.ending, l.used
}

// EndAll takes everything back, when no further WaitIO will return anything.
func (l *Leased) EndAll() {
	for range 2 { // what is used becomes ending
		l.End()
	}
}

func releaseAll(blocks []mem.Buf) []mem.Buf {
	for i := range blocks {
		blocks[i].Release()
	}
	return blocks[:0]
}

// block returns the place in blocks of the block that p was lent from, or -1 when p
// is the program's own memory. Called with mu.
func (l *Leased) block(p []byte) int {
	at := op.Address(&p[0])
	for i := range l.blocks {
		block := l.blocks[i].Bytes()
		if from := op.Address(&block[0]); from <= at && at < from+uintptr(len(block)) {
			return i
		}
	}
	return -1
}

// fewOf says that n bytes are worth copying out of a block of so many, by the rule
// of mem.Buf.Compact: they would keep more than eight times their size.
func fewOf(n, block int) bool { return n <= block/8 }

// Holds is how much memory Hold would keep of p, and 0 when p was not lent.
func (l *Leased) Holds(p []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.block(p)
	if i < 0 {
		return 0
	}
	block := l.blocks[i].Len()
	if fewOf(len(p), block) {
		return l.From.Cap(len(p))
	}
	return block
}

// Hold keeps the memory of p, if p was lent: a write of what a read has just
// returned may last longer than until the next WaitIO. It returns the bytes to
// write, a copy when p is a small part of its block, and how much memory is
// kept; and the zero Buf when p is the program's own memory.
func (l *Leased) Hold(p []byte) (kept mem.Buf, write []byte, held int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.block(p)
	if i < 0 {
		return mem.Buf{}, p, 0
	}
	block := l.blocks[i].Len()
	if !fewOf(len(p), block) {
		return l.blocks[i].Retain(), p, block
	}
	kept = l.From.Get(len(p))
	write = kept.Bytes()
	copy(write, p)
	return kept, write, l.From.Cap(len(p))
}

// LetGo takes back what Hold has kept, when the write is complete.
func (l *Leased) LetGo(b mem.Buf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = append(l.used, b) //sluice:moved
}
