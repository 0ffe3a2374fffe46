package sluicetest

import (
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
)

// Chunkings yields readers that deliver data and then io.EOF, each cut into
// reads in another way, with a name that says how: in one piece, by single
// bytes, by halves of what is asked for, by random sizes; with io.EOF after
// the last byte or together with it; straight or with (0, nil) before each
// read. The readers are independent of each other and have no method but
// Read. data is borrowed while they are in use.
func Chunkings(data []byte) iter.Seq2[string, io.Reader] {
	return chunkings(data, straight, empty)
}

// TimeoutChunkings is Chunkings with a timeout before every read: each second
// call returns no bytes and os.ErrDeadlineExceeded, and the next goes on where
// the last stopped.
func TimeoutChunkings(data []byte) iter.Seq2[string, io.Reader] {
	return chunkings(data, timeout)
}

// Splits yields readers that deliver data in two reads, or in one for the
// first and last, split at every place: len(data)+1 of them. They are for
// parsers, which have a state at every byte.
func Splits(data []byte) iter.Seq2[string, io.Reader] {
	return func(yield func(string, io.Reader) bool) {
		for i := range len(data) + 1 {
			c := &chunker{data: data, size: func(int) int { return len(data) }}
			if i > 0 {
				first := true
				c.size = func(int) int {
					if first {
						first = false
						return i
					}
					return len(data)
				}
			}
			if !yield(fmt.Sprintf("split at %d", i), c) {
				return
			}
		}
	}
}

func chunkings(data []byte, pauses ...pause) iter.Seq2[string, io.Reader] {
	return func(yield func(string, io.Reader) bool) {
		for _, s := range sizes() {
			for _, early := range []bool{false, true} {
				for _, p := range pauses {
					name := s.name
					if early {
						name += ", EOF with data"
					}
					name += p.name
					if !yield(name, &chunker{data: data, size: s.make(), early: early, pause: p}) {
						return
					}
				}
			}
		}
	}
}

type sizing struct {
	name string
	make func() func(asked int) int
}

func sizes() []sizing {
	fixed := func(f func(int) int) func() func(int) int {
		return func() func(int) int { return f }
	}
	random := func(most int) sizing {
		seed := processSeed()
		return sizing{fmt.Sprintf("random 1 to %d, seed %d", most, seed), func() func(int) int {
			r := rand.New(rand.NewPCG(seed, uint64(most)))
			return func(int) int { return 1 + r.IntN(most) }
		}}
	}
	return []sizing{
		{"whole", fixed(func(asked int) int { return asked })},
		{"one byte", fixed(func(int) int { return 1 })},
		{"halves", fixed(func(asked int) int { return (asked + 1) / 2 })},
		random(7),
		random(4096),
	}
}

// A pause is what comes before each read.
type pause struct {
	name string
	on   bool
	err  error
}

var (
	straight = pause{}
	empty    = pause{name: ", empty reads", on: true}
	timeout  = pause{name: ", timeouts", on: true, err: os.ErrDeadlineExceeded}
)

type chunker struct {
	data  []byte
	size  func(asked int) int
	early bool // io.EOF comes with the last bytes
	pause pause
	ready bool // the pause before the next read is over
}

// Read delivers at least one byte for a p that is not empty, unless a pause
// or the end comes next.
func (c *chunker) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.pause.on && !c.ready {
		c.ready = true
		return 0, c.pause.err
	}
	c.ready = false
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.size(len(p)))], c.data)
	c.data = c.data[n:]
	if c.early && len(c.data) == 0 {
		return n, io.EOF
	}
	return n, nil
}
