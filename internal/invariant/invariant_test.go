package invariant_test

import (
	"testing"

	"github.com/sluice-go/sluice/internal/invariant"
)

func TestCheckPanicsOnlyInInvariantBuilds(t *testing.T) {
	defer func() {
		got := recover()
		if !invariant.Enabled {
			if got != nil {
				t.Fatalf("Check(false) panicked with %v in a build without the tag", got)
			}
			return
		}
		const want = "invariant broken: mem: 3 references, 2 found"
		if got != want {
			t.Fatalf("Check(false) panicked with %v, want %q", got, want)
		}
	}()
	invariant.Check(false, "mem: %d references, %d found", 3, 2)
}

func TestCheckIsSilentWhenTheInvariantHolds(t *testing.T) {
	invariant.Check(true, "%d of %d", 1, 1)
}

func TestCheckCostsNothingWithoutTheTag(t *testing.T) {
	if invariant.Enabled {
		t.Skip("formatting may allocate in this build")
	}
	n := 0
	allocs := testing.AllocsPerRun(1000, func() {
		n++
		invariant.Check(n < 0, "n is %d of %d", n, n*100000)
	})
	if allocs != 0 {
		t.Fatalf("a disabled Check allocates %v times", allocs)
	}
}
