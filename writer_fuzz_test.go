package sluice_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

// FuzzBufWriter runs a script of calls on a writer beside the model of the
// random histories. The script says too how much may wait.
func FuzzBufWriter(f *testing.F) {
	f.Add([]byte("\x00 some calls, the usual bound"))
	f.Add([]byte("\x01\x05 a small bound"))
	rng := rand.New(rand.NewPCG(3, 4))
	for range 6 {
		p := make([]byte, 200)
		for i := range p {
			p[i] = byte(rng.IntN(256))
		}
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		d := &script{rest: p}
		bound := []int{0, 1 + d.pick(300), 1 + d.pick(100_000)}[d.pick(3)]
		a := paranoid(t)
		var out bytes.Buffer
		// As a file or a TLS connection: with Write and nothing else.
		m := newWriting(t, d, writerOf(t, a, bound, struct{ io.Writer }{&out}), a, bound)
		for len(d.rest) > 0 {
			m.step()
		}
		d.over = true
		m.flush()
		m.same(out.Bytes())
	})
}
