package evidence

import (
	"reflect"
	"testing"
)

func TestScalingTakesTheRoundsThatHadTheirProcessors(t *testing.T) {
	var out outcome
	book := func(n, procs int, perSec, perOp float64) {
		for range n {
			out.Procs, out.PerSec, out.PerOp = append(out.Procs, procs), append(out.PerSec, perSec), append(out.PerOp, perOp)
		}
	}
	// In most rounds with two processors others have one of them: then the goroutines
	// share nothing, because they do not run at the same time.
	book(90, 1, 1000, 1e6)
	book(90, 2, 1000, 1e6)
	book(10, 2, 500, 4e6) // both: 2 processors' time for half of the work
	got := scalingOf(out)
	want := &Scaling{Procs: []int{1, 2}, OpsPerSec: []float64{1000, 500}, CPUPerOp: []float64{1e6, 4e6}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestScalingOfNothing(t *testing.T) {
	if s := scalingOf(outcome{Procs: []int{1, 2}}); len(s.Procs) != 0 || len(s.OpsPerSec) != 0 {
		t.Errorf("%+v", s)
	}
}
