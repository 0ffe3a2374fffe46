package op

import "weak"

// batch is a slice of results that has been, or will be, handed out.
type batch struct {
	results []Result
	self    weak.Pointer[batch]
}

// Completions collects completions in the slices that WaitIO returns, and reuses
// those slices. Its owner guards it.
//
// A slice that is out is held weakly: were it held here as well, the connections
// and contexts of the last results would live for as long as WaitIO is not called
// again, and a connection that the program has forgotten would not be found.
type Completions struct {
	filling *batch
	spare   *batch
	out     weak.Pointer[batch]
	most    int // the longest batch so far, up to mostKept
	unused  int // Completions in a row that needed little of their slice
}

// Add appends a completion and returns its place, for what is filled in later.
func (c *Completions) Add() *Result {
	if c.filling == nil {
		c.filling = c.make()
	}
	f := c.filling
	if len(f.results) < cap(f.results) {
		f.results = f.results[:len(f.results)+1]
	} else {
		f.results = append(f.results, Result{})
	}
	return &f.results[len(f.results)-1]
}

// Len is how many there are.
func (c *Completions) Len() int {
	if c.filling == nil {
		return 0
	}
	return len(c.filling.results)
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

// Recycle takes back the slice that Take returned last.
func (c *Completions) Recycle() {
	last := c.out.Value()
	if last == nil {
		return
	}
	clear(last.results)
	last.results = last.results[:0]
	c.out = weak.Pointer[batch]{}
	if cap(last.results) <= mostKept || c.unused < mostUnused {
		c.spare = last
	}
}

// Take hands out what has been added since the last call.
func (c *Completions) Take() []Result {
	f := c.filling
	if f == nil || len(f.results) == 0 {
		return nil
	}
	c.most = min(max(c.most, len(f.results)), mostKept)
	if c.unused++; len(f.results) > cap(f.results)/4 {
		c.unused = 0
	}
	c.out = f.self
	c.filling, c.spare = c.spare, nil
	return f.results
}

func (c *Completions) make() *batch {
	n := &batch{results: make([]Result, 0, max(c.most, 16))}
	n.self = weak.Make(n)
	return n
}

// Waiting returns what has been added since the last Take, which has not been handed
// out.
func (c *Completions) Waiting() []Result {
	if c.filling == nil {
		return nil
	}
	return c.filling.results
}
