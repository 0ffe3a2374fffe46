package echobench

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/sluicetest"
)

func TestQuantilesOfKnownValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(sluicetest.Seed(t), 1))
	for _, n := range []int{1, 2, 3, 10, 100, 1001} {
		values := make([]time.Duration, n)
		for i := range values {
			values[i] = time.Duration(i + 1)
		}
		rng.Shuffle(n, func(i, j int) { values[i], values[j] = values[j], values[i] })
		// Of 1 to n the least that q*n of them do not exceed.
		if got, want := Quantile(values, 0.5), time.Duration((n+1)/2); got != want {
			t.Errorf("the median of 1 to %d is %d, want %d", n, got, want)
		}
		if got, want := Quantile(values, 0.99), time.Duration((99*n+99)/100); got != want {
			t.Errorf("of 1 to %d the 99th percentile is %d, want %d", n, got, want)
		}
		if got := Quantile(values, 1); got != time.Duration(n) {
			t.Errorf("the most of 1 to %d is %d", n, got)
		}
		if got := Quantile(values, 0); got != 1 {
			t.Errorf("the least of 1 to %d is %d", n, got)
		}
	}
	if got := Quantile(nil, 0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
}

func TestPartsOfAWorkAddUp(t *testing.T) {
	a := Result{Messages: 1, Bytes: 2, Check: 3, Wall: 4, Waited: 6, P50: 100}
	b := Result{Messages: 10, Bytes: 20, Check: 30, Wall: 40, Waited: 60, P50: 7, P99: 8, Late: 9}
	if got, want := a.And(b), (Result{11, 22, 33, 44, 66, 7, 8, 9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
