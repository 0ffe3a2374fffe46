package aio_test

import (
	"math/rand/v2"
	"testing"
)

// FuzzHistory reads a history from bytes: which options the watcher has, what is
// submitted and what the peers do. It runs on every driver of the machine. The
// order in which things happen is not in the bytes: the collector and the peers
// have goroutines of their own.
func FuzzHistory(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 3))
	for _, n := range []int{0, 60, 600} {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(rng.IntN(256))
		}
		f.Add(p)
	}
	const mostSteps = 400
	// One listener for all runs: each that is closed leaves its port waiting for a minute.
	makers := allMakers(f)
	f.Fuzz(func(t *testing.T, p []byte) {
		for _, driver := range driversHere(t) {
			// The collector's choices come from a part of their own, or they would
			// shift with every completion.
			own := p[:len(p)/5]
			steps := script{p[len(p)/5:]}
			h := newHistory(t, makers, driver, &script{own}, 1, 4, false)
			h.play([]dice{&steps}, min(mostSteps, len(p)/4))
		}
	})
}
