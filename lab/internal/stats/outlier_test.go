package stats

import "testing"

// A value stands out in a run that is quiet otherwise, and in none that varies by itself as
// much, whatever the earlier run did.
func TestOutlierOfARunThatVaries(t *testing.T) {
	quiet := []float64{100, 101, 99, 100, 102, 98, 100, 101, 99, 100, 101, 99}
	calm := append([]float64{160}, quiet[1:]...)
	if at, found := Outlier(quiet, calm, true, 1.2); !found || at != 0 {
		t.Errorf("160 among quiet ones: at %d, found is %v", at, found)
	}
	if _, found := Outlier(quiet, calm, false, 1.2); found {
		t.Error("160 is found where small values are looked for")
	}
	varies := []float64{160, 70, 130, 75, 140, 65, 150, 72, 135, 68, 145, 74}
	if at, found := Outlier(quiet, varies, true, 1.2); found {
		t.Errorf("%v stands out of a run that varies", varies[at])
	}
	for i, v := range calm { // small ones are found as large ones are
		calm[i] = 1e4 / v
	}
	if at, found := Outlier(quiet, calm, false, 1.2); !found || at != 0 {
		t.Errorf("62 among quiet ones: at %d, found is %v", at, found)
	}
}
