package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/document"
	loads "github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/matrix"
)

// smallFiles are results of every kind, cut down to a few of everything.
func smallFiles(t testing.TB) [][]byte {
	bench, load := fixture(), loadFixture(1, 1, 1)
	bench.Scenarios = bench.Scenarios[1:3]
	load.Due, load.Series = load.Due[:3], load.Series[:3]
	for _, d := range []*loads.Distribution{load.Latency, load.Service, &load.Calibration.Timer} {
		d.Curve = d.Curve[88:]
	}
	grid := matrixFixture(1, 1)
	grid.Layers, grid.Cells, grid.Knees = grid.Layers[:1], grid.Cells[:3], grid.Knees[1:]
	for _, a := range []*matrix.Axis{&grid.Rows, &grid.Columns} {
		a.Values, a.Labels = a.Values[:3], a.Labels[:3]
	}
	d := diagnosisFixture()
	d.Evidence.CPU.Stacks = append(d.Evidence.CPU.Stacks[:3], evidence.Stack{Value: 1 << 62}, evidence.Stack{Value: 1 << 62, Frames: make([]evidence.Frame, 120)})
	var files [][]byte
	for _, result := range []any{bench, load, grid, d} {
		files = append(files, written(t, result))
	}
	return files
}

// survives checks that a file can be rendered, printed and compared, or is refused with ErrSchema
// by one of these.
func survives(t testing.TB, text []byte) (accepted bool) {
	t.Helper()
	r, err := Read(bytes.NewReader(text), "damaged")
	if err != nil {
		if !errors.Is(err, ErrSchema) {
			t.Fatal(err)
		}
		return false
	}
	var page bytes.Buffer
	if err := WriteReport(&page, []*Result{r, r}, nil); errors.Is(err, ErrSchema) {
		return false
	} else if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, page.String())
	if err := WriteBenchstat(io.Discard, []*Result{r}); err != nil {
		t.Fatal(err)
	}
	c, err := Compare(r, r, Options{})
	if err != nil {
		if !errors.Is(err, ErrNotComparable) && !errors.Is(err, ErrSchema) {
			t.Fatal(err)
		}
		return true
	}
	if c.Better+c.Regressions != 0 {
		t.Fatalf("a result differs from itself: %d worse, %d better", c.Regressions, c.Better)
	}
	p := document.NewPrinter(io.Discard, true)
	p.Print(c.Items()...)
	if err := errors.Join(json.NewEncoder(io.Discard).Encode(c), p.Err()); err != nil {
		t.Fatal(err)
	}
	return true
}

// damage puts something else in the place of one value, somewhere within.
func damage(rng *rand.Rand, v any) any {
	other := []any{
		nil, 0.0, -1.0, 1.0, 0.5, 1e18, -1e18, 1e300, 9007199254740993.0, 1e-300, "", "x", "\u0000</script>", true, []any{}, map[string]any{}, []any{nil, 1.0},
	}
	switch at := v.(type) {
	case map[string]any:
		if len(at) == 0 || rng.IntN(12) == 0 {
			break
		}
		keys := make([]string, 0, len(at))
		for k := range at {
			keys = append(keys, k)
		}
		k := keys[rng.IntN(len(keys))]
		if rng.IntN(20) == 0 {
			delete(at, k)
		} else {
			at[k] = damage(rng, at[k])
		}
		return at
	case []any:
		if len(at) == 0 || rng.IntN(12) == 0 {
			break
		}
		i := rng.IntN(len(at))
		if rng.IntN(10) == 0 {
			return append(at, at[i]) // twice
		}
		at[i] = damage(rng, at[i])
		return at
	}
	// Another type is refused at once, so the same one says more.
	switch v := v.(type) {
	case float64:
		other = []any{0.0, 0.0, 1.0, 2.0, 7.0, 1e6, 1e15, 1e18, 9007199254740993.0, -1.0, 0.5, 1e300}
	case string:
		other = []any{"", "x", "\u0000</script>", "0", "ns", "B/s"}
	case bool:
		return !v
	}
	return other[rng.IntN(len(other))]
}

func TestDamagedFilesAreRefusedOrRendered(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	accepted, files := 0, smallFiles(t)
	tries := 250
	if underRace {
		tries = 60
	}
	for i := range tries {
		var all any
		if err := json.Unmarshal(files[i%len(files)], &all); err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(3) {
			all = damage(rng, all)
		}
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		if survives(t, text) {
			accepted++
		}
		if t.Failed() {
			t.Fatalf("of this file:\n%.4000s", text)
		}
	}
	t.Logf("%d of %d damaged files were accepted", accepted, tries)
	if accepted < tries/20 {
		t.Error("hardly any damage gets through to be rendered: the test says nothing")
	}
}

// What any file makes Read accept can be rendered, compared and printed.
func FuzzRead(f *testing.F) {
	for _, text := range smallFiles(f) {
		f.Add(text)
	}
	f.Add([]byte(`{"kind":"load","schema":1,"valid":true,"latency":{"count":1,"curve":[{"q":1,"at_ns":0}]},"series":[{},{"at_ns":1}],"p99s":[{"at_ns":1},{"at_ns":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) { survives(t, text) })
}
