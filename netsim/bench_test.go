package netsim_test

import (
	"io"
	"testing"

	"github.com/sluice-go/sluice/netsim"
)

// BenchmarkRead is the cost of one Read. "loop" stands for the source with a
// constant room of the condition's mean, what any reader of it has to pay;
// "condition" has the drawn sizes on top.
func BenchmarkRead(b *testing.B) {
	data := pattern(1 << 20)
	for _, c := range netsim.Conditions() {
		p := make([]byte, 64<<10)
		run := func(name string, r io.Reader, p []byte) {
			b.Run(c.Name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				total := 0
				for b.Loop() {
					n, _ := r.Read(p)
					total += n
				}
				b.SetBytes(int64(total / b.N))
			})
		}
		run("loop", netsim.NewLoop(data, -1), p[:(c.Min+c.Max)/2])
		run("condition", netsim.NewReader(netsim.NewLoop(data, -1), c, 1), p)
	}
}

// nothing is a source without a cost of its own.
type nothing struct{}

func (nothing) Read(p []byte) (int, error) { return len(p), nil }

func BenchmarkReadOverNothing(b *testing.B) {
	p := make([]byte, 64<<10)
	b.Run("direct", func(b *testing.B) {
		var r io.Reader = nothing{}
		for b.Loop() {
			r.Read(p)
		}
	})
	b.Run("condition", func(b *testing.B) {
		var r io.Reader = netsim.NewReader(nothing{}, netsim.Good, 1)
		for b.Loop() {
			r.Read(p)
		}
	})
}

func BenchmarkDraw(b *testing.B) {
	for b.Loop() {
		netsim.Draw(netsim.Good, 1)
	}
}
