package scenarios

import (
	"testing"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/netsim"
)

func BenchmarkZ(b *testing.B) {
	for _, cond := range netsim.Conditions() {
		for _, name := range []string{"source","bufiox", "peek", "next", "readbuf"} {
			b.Run(cond.Name+"/"+name, func(b *testing.B) {
				env := lab.Env{Seed: 1}
				s := shortFrames(env)
				src := netsim.NewReader(s.source(0), cond, env.Seed)
				for _, w := range append(append([]way{}, frameWays...), ourFrames...) {
					if w.name == name {
						x := newWalker(w, src, place{s: s})
						b.ResetTimer()
						if _, err := x.w.walk(b.N); err != nil { b.Fatal(err) }
					}
				}
			})
		}
	}
}
