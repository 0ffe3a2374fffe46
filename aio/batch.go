package aio

import "weak"

// batch is a slice of results that has been, or will be, handed out.
type batch struct {
	results []OpResult
	self    weak.Pointer[batch]
}

// batches turns completions into the slices that WaitIO returns, and uses those
// slices again. Its owner guards it.
//
// A slice that is out is held weakly: were it held here as well, the connections
// and contexts of the last results would live for as long as nobody calls WaitIO
// again, and a connection that the program has forgotten would not be found.
type batches struct {
	filling *batch
	spare   *batch
	out     weak.Pointer[batch]
	most    int // the longest batch so far, up to mostKept
	unused  int // batches in a row that needed little of their slice
}

// add appends a completion and returns its place, for what is filled in later.
func (b *batches) add() *OpResult {
	if b.filling == nil {
		b.filling = b.make()
	}
	f := b.filling
	if len(f.results) < cap(f.results) {
		f.results = f.results[:len(f.results)+1]
	} else {
		f.results = append(f.results, OpResult{})
	}
	return &f.results[len(f.results)-1]
}

func (b *batches) len() int {
	if b.filling == nil {
		return 0
	}
	return len(b.filling.results)
}

// Slices of up to mostKept results, half a megabyte, are always used again. A longer
// one is used again too, or a watcher with a few more busy connections would make a
// new one for each WaitIO. But it may be what a storm has left behind, such as
// thousands of connections that were freed at once: it goes when most of it was not
// needed so many times in a row.
const (
	mostKept   = 4096
	mostUnused = 32
)

// recycle ends the loan of what take returned last.
func (b *batches) recycle() {
	last := b.out.Value()
	if last == nil {
		return
	}
	clear(last.results)
	last.results = last.results[:0]
	b.out = weak.Pointer[batch]{}
	if cap(last.results) <= mostKept || b.unused < mostUnused {
		b.spare = last
	}
}

// take hands out what has been added since the last call.
func (b *batches) take() []OpResult {
	f := b.filling
	if f == nil || len(f.results) == 0 {
		return nil
	}
	b.most = min(max(b.most, len(f.results)), mostKept)
	if b.unused++; len(f.results) > cap(f.results)/4 {
		b.unused = 0
	}
	b.out = f.self
	b.filling, b.spare = b.spare, nil
	return f.results
}

func (b *batches) make() *batch {
	n := &batch{results: make([]OpResult, 0, max(b.most, 16))}
	n.self = weak.Make(n)
	return n
}
