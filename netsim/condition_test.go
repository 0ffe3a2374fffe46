package netsim_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/netsim"
)

// panicOf returns what f panics with, as text.
func panicOf(f func()) (message string) {
	defer func() {
		if v := recover(); v != nil {
			message = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

func TestTheFourConditions(t *testing.T) {
	want := []netsim.Condition{{"good", 1024, 4096}, {"normal", 256, 2048}, {"poor", 64, 512}, {"worst", 1, 128}}
	got := netsim.Conditions()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("Conditions are %v, want %v", got, want)
	}
	for _, c := range want {
		if got, ok := netsim.ByName(c.Name); !ok || got != c {
			t.Errorf("ByName(%q) is %v, %v", c.Name, got, ok)
		}
	}
	if _, ok := netsim.ByName("splendid"); ok {
		t.Error(`there is a condition "splendid"`)
	}
}

func TestDrawPanicsOnImpossibleConditions(t *testing.T) {
	for _, c := range []netsim.Condition{
		{}, {"a", 0, 10}, {"b", -1, 10}, {"c", 10, 9}, {"d", 1, netsim.MaxRead + 1}, {"e", math.MinInt, math.MaxInt},
	} {
		got := panicOf(func() { netsim.Draw(c, 1) })
		for _, part := range []string{"netsim: ", fmt.Sprintf("%q", c.Name), fmt.Sprint(c.Min), fmt.Sprint(c.Max)} {
			if !strings.Contains(got, part) {
				t.Errorf("Draw(%v) panicked with %q, which lacks %q", c, got, part)
			}
		}
	}
}

// The seeds are fixed, so this cannot fail by chance; outside the bounds the
// generator would be suspicious.
func TestDrawnSizesAreUniform(t *testing.T) {
	conditions := append(netsim.Conditions(),
		netsim.Condition{Name: "whole range", Min: 1, Max: netsim.MaxRead},
		netsim.Condition{Name: "pair", Min: 7, Max: 8})
	for _, c := range conditions {
		for seed := range uint64(20) {
			table := netsim.Draw(c, seed)
			width := c.Max - c.Min + 1
			buckets := min(width, 16)
			count := make([]float64, buckets)
			var sum float64
			for i := range uint(netsim.TableLen) {
				n := table.Size(i)
				if n < c.Min || n > c.Max {
					t.Fatalf("%v, seed %d: size %d is %d", c, seed, i, n)
				}
				sum += float64(n)
				count[(n-c.Min)*buckets/width]++
			}
			mean, want := sum/netsim.TableLen, float64(c.Min+c.Max)/2
			sigma := math.Sqrt(float64(width*width-1)/12) / math.Sqrt(netsim.TableLen)
			if math.Abs(mean-want) > 4*sigma {
				t.Errorf("%v, seed %d: mean %.1f, want %.1f within %.1f", c, seed, mean, want, 4*sigma)
			}
			// Buckets are equal up to rounding, which the bound swallows.
			var chi float64
			for b, n := range count {
				lo := (b*width + buckets - 1) / buckets
				hi := ((b+1)*width + buckets - 1) / buckets
				expected := netsim.TableLen * float64(hi-lo) / float64(width)
				chi += (n - expected) * (n - expected) / expected
			}
			if bound := float64(buckets-1) + 5*math.Sqrt(2*float64(buckets-1)); chi > bound {
				t.Errorf("%v, seed %d: chi square %.1f over %d buckets, bound %.1f", c, seed, chi, buckets, bound)
			}
		}
	}
}

func TestSeedsDecideTheSizes(t *testing.T) {
	a, again, b := netsim.Draw(netsim.Good, 7), netsim.Draw(netsim.Good, 7), netsim.Draw(netsim.Good, 8)
	if *a != *again {
		t.Error("the same seed drew different sizes")
	}
	if *a == *b {
		t.Error("two seeds drew the same sizes")
	}
	// A figure measured with one release of Go must be repeatable with the next.
	want := []int{1852, 1945, 1379, 1538, 3683, 3464}
	for i := range uint(len(want)) {
		if got := a.Size(i); got != want[i] {
			t.Errorf("size %d of seed 7 is %d, was always %d", i, got, want[i])
		}
	}
}

func TestTableWrapsAround(t *testing.T) {
	table := netsim.Draw(netsim.Poor, 3)
	for i := range uint(netsim.TableLen) {
		if table.Size(i) != table.Size(i+netsim.TableLen) || table.Size(i) != table.Size(i+5*netsim.TableLen) {
			t.Fatalf("size %d does not repeat", i)
		}
	}
}
