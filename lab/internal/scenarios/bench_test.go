package scenarios

import (
	"testing"

	"github.com/sluice-go/sluice/lab/internal/gobench"
)

// bench runs the scenario of that name.
func bench(b *testing.B, name string) {
	for _, s := range All() {
		if s.Name == name {
			gobench.Bench(b, s)
			return
		}
	}
	b.Fatalf("there is no scenario %s", name)
}

func BenchmarkConcurrentNetworkRead(b *testing.B) { bench(b, "concurrent-read") }
func BenchmarkHighFrequencyReads(b *testing.B)    { bench(b, "framing/small-16") }
func BenchmarkGCPressure(b *testing.B)            { bench(b, "gc-pressure") }
