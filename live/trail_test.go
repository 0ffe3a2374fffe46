package live

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/sluicetest"
)

// The age of what is not acknowledged is that of a list of everything that was written, to
// within what a mark joins, for as long as the trail remembers; before that it is too low.
func TestTrailIsThatOfAllWrites(t *testing.T) {
	seed := sluicetest.Seed(t)
	for round := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, round))
		type written struct{ end, came int64 }
		var all []written
		var tr trail
		now, end := r.Int64N(int64(10*time.Second)), r.Int64N(1<<33)
		from := end
		for range 1 + r.IntN(100) {
			now += int64(r.IntN(int(300 * time.Millisecond)))
			end += 1 + r.Int64N(50_000)
			tr.add(end, now)
			all = append(all, written{end, now})
			if tr.n > trailLen || len(tr.list) > trailLen {
				t.Fatalf("seed %d: %d marks in %d", seed, tr.n, len(tr.list))
			}
			acked := from + r.Int64N(end-from+1)
			want := time.Duration(0)
			for _, w := range all {
				if w.end > acked {
					want = time.Duration(now - w.came)
					break
				}
			}
			got := tr.age(acked, now)
			const joined = (trailStep + 2) * time.Millisecond
			whole := trailLen * trailStep * time.Millisecond / 2 // of which it certainly remembers
			if got > want+joined || want < whole && got < want-joined {
				t.Fatalf("seed %d, round %d: %v old, want %v", seed, round, got, want)
			}
		}
	}
}
