package sluice

import "io"

// A guard watches a source that may wait inside Read, with memory of the reader's.
// To give that memory back then would let the source write to what another owner has
// by then.
type guard uint8

const (
	// open is no guard: a source without Close, as one over memory, where each read would pay
	// for it. What is above it, below closing, are reads under way, one inside the other.
	open    guard = 0
	closing guard = 128 // the source has Close, as connections and pipes
	reading guard = 129 // it is inside Read
)

// deepest is how many reads of an open source may be under way. One that panics counts as
// under way until another has returned, so it is not one.
const deepest = 100

// undisturbed panics when the source is inside Read. The guard is no lock: it sees every
// read that waits, but not one that begins at the same instant.
func (b *BufReader) undisturbed() {
	if b.guard == reading {
		panicReading()
	}
}

// enter begins reads of the source, and returns it, with its guard if it has one. leave ends
// them: a panic goes past it.
func (b *BufReader) enter() io.Reader {
	if b.guard >= closing {
		return b.guarded()
	}
	if b.guard++; b.guard > deepest {
		b.panicDeep()
	}
	return b.src
}

func (b *BufReader) leave() {
	if b.guard < closing {
		b.guard = open
	}
}

// panicDeep ends a recursion that would end the program.
//
//go:noinline
func (b *BufReader) panicDeep() {
	b.guard = open
	panic("sluice: BufReader reads from itself: its source reads the reader again")
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
