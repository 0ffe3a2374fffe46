package sluice

import "io"

// A guard watches a source that may wait inside Read, with memory of the reader's.
// To give that memory back then would let the source write to what another owner has
// by then.
type guard uint8

const (
	open    guard = iota // no guard: a source without Close, as one over memory, where each read would pay for it
	closing              // the source has Close, as connections and pipes
	reading              // it is inside Read
)

// undisturbed panics when the source is inside Read. The guard is no lock: it sees every
// read that waits, but not one that begins at the same instant.
func (b *BufReader) undisturbed() {
	if b.guard == reading {
		panicReading()
	}
}

// guarded returns the source with its guard.
func (b *BufReader) guarded() io.Reader {
	b.undisturbed()
	return (*guardedSource)(b)
}

// guardedSource is the reader as its own source.
type guardedSource BufReader

func (s *guardedSource) Read(p []byte) (int, error) {
	s.guard = reading
	defer func() { s.guard = closing }() // also when the source panics
	return s.src.Read(p)
}

//go:noinline
func panicReading() {
	panic("sluice: BufReader was used during a read of its own, by another goroutine or by its source")
}
