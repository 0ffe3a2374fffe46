package ownership_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/vet/internal/driver"
	"github.com/sluice-go/sluice/vet/internal/models"
	"github.com/sluice-go/sluice/vet/ownership"
)

// house is our own code, loaded once.
var house = sync.OnceValues(func() (*driver.Program, error) {
	return driver.Load(driver.LoadOptions{Dir: "../.."}, models.Default().Package, "./...", "./cmd/...", "./lab/...")
})

// TestMutants puts faults into our own correct code, one at a time, and counts
// how many are found: a release left out or doubled, a use after a release or a
// transfer, a read between borrowing and using.
func TestMutants(t *testing.T) {
	p, err := house()
	if err != nil {
		t.Fatal(err)
	}
	a := newAnalyzer(t, ownership.Options{})
	found, err := p.Run(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		t.Errorf("%s: our own code is correct: %s", p.Fset.Position(d.Pos), d.Message)
	}
	all, hit := map[string]int{}, map[string]int{}
	every := 6
	if os.Getenv("SLUICE_LONG") != "" {
		every = 1
	}
	for i, m := range mutants(p) {
		if i%every != 0 {
			continue // each takes a tenth of a second
		}
		reports, err := p.RunChanged(a, m.pkg, m.file, m.text)
		if err != nil {
			continue // it does not compile: the compiler found it
		}
		all[m.kind]++
		if len(reports) > 0 {
			hit[m.kind]++
		} else {
			t.Logf("missed: %s at %s:%d", m.kind, filepath.Base(m.file), m.line)
		}
	}
	total, totalHit := 0, 0
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		fmt.Printf("mutants: %-28s %3d of %3d\n", kind, hit[kind], all[kind])
		total, totalHit = total+all[kind], totalHit+hit[kind]
	}
	fmt.Printf("mutants: %d of %d found (%.0f %%)\n", totalHit, total, 100*float64(totalHit)/float64(max(total, 1)))
	if least := 400 / every; total < least || totalHit*5 < total*4 {
		t.Errorf("%d of %d mutants found, want at least 4 in 5 of at least %d", totalHit, total, least)
	}
}
