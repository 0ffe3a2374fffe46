package matrix

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// measured is a small grid with all its runs.
func measured(t testing.TB, name string) *File {
	t.Helper()
	f, err := New(name, Choice{Rows: map[string]string{SizeConns: "64,4K", RateDurability: "100,max", Buffer: "4K", RateNetwork: "100,max"}[name]})
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Cells {
		for round := 1; round <= f.Repeats; round++ {
			run := Run{Round: round, Place: 1 + (i+round)%len(f.Cells), Valid: true, Requests: 50, Figures: map[string]float64{}}
			for j, g := range f.Figures {
				run.Figures[g.Name] = float64((i + 1) * 1000 * (j + 1) * (10 + round))
			}
			f.Cells[i].Runs = append(f.Cells[i].Runs, run)
		}
	}
	f.Derive()
	return f
}

func TestAFileComesBackAsItWas(t *testing.T) {
	for _, name := range Names() {
		f := measured(t, name)
		path := filepath.Join(t.TempDir(), "m.json")
		for range 2 { // in the place of the first
			if err := f.Save(path); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := reload(t, text); jsonOf(t, got) != jsonOf(t, f) {
			t.Errorf("%s: %s came back as %s", name, jsonOf(t, f), jsonOf(t, got))
		}
		if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
			t.Errorf("%s: %v beside the file", name, entries)
		}
	}
}

func TestAFileThatCannotBeSavedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f := measured(t, Buffer)
	if err := f.Save(filepath.Join(dir, "no", "m.json")); err == nil {
		t.Error("saved in a directory that is not there")
	}
	if err := os.Mkdir(filepath.Join(dir, "m.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(filepath.Join(dir, "m.json")); err == nil {
		t.Error("saved in the place of a directory")
	}
	f.Seconds = math.Inf(1) // no JSON has that
	if err := f.Save(filepath.Join(dir, "n.json")); err == nil {
		t.Error("saved what cannot be written")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left %v", entries)
	}
}

func TestCorruptedFilesAreRefused(t *testing.T) {
	for name, change := range map[string]func(*File){
		"another kind":               func(f *File) { f.Kind = "load" },
		"another version":            func(f *File) { f.Schema++ },
		"no layers":                  func(f *File) { f.Layers = nil },
		"a layer twice":              func(f *File) { f.Layers[1] = f.Layers[0] },
		"no figures":                 func(f *File) { f.Figures = nil },
		"a figure twice":             func(f *File) { f.Figures[1] = f.Figures[0] },
		"the noise of nothing":       func(f *File) { f.NoiseOf = "" },
		"no rounds":                  func(f *File) { f.Repeats = 0 },
		"too many rounds":            func(f *File) { f.Repeats = 1 << 30 },
		"no time":                    func(f *File) { f.CellTime = 0 },
		"no rows":                    func(f *File) { f.Rows = Axis{} },
		"a label too few":            func(f *File) { f.Columns.Labels = f.Columns.Labels[1:] },
		"a value twice":              func(f *File) { f.Columns.Values[1] = f.Columns.Values[0] },
		"no cells":                   func(f *File) { f.Cells = nil },
		"a cell twice":               func(f *File) { f.Cells[1] = f.Cells[0] },
		"a cell beside the layers":   func(f *File) { f.Cells[0].Layer = 99 },
		"a cell beside the rows":     func(f *File) { f.Cells[0].Row = -1 },
		"a cell beside the columns":  func(f *File) { f.Cells[0].Column = 99 },
		"round 0":                    func(f *File) { f.Cells[0].Runs[0].Round = 0 },
		"a round that is not":        func(f *File) { f.Cells[0].Runs[0].Round = f.Repeats + 1 },
		"a round twice":              func(f *File) { f.Cells[0].Runs[0].Round = 2 },
		"place 0":                    func(f *File) { f.Cells[0].Runs[0].Place = 0 },
		"a place that is not":        func(f *File) { f.Cells[0].Runs[0].Place = len(f.Cells) + 1 },
		"a figure that is not":       func(f *File) { f.Cells[0].Runs[0].Figures["colour"] = 1 },
		"an invalid run's latency":   func(f *File) { f.Cells[0].Runs[0].Valid = false },
		"a valid run with a reason":  func(f *File) { f.Cells[0].Runs[0].Reason = "none" },
		"a cell of a nanosecond":     func(f *File) { f.CellTime = 1 },
		"more layers than there are": func(f *File) { f.Layers = strings.Split(strings.Repeat("a,", 50), ",") },
	} {
		f := measured(t, SizeConns)
		change(f)
		if err := f.Check(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func textOf(t testing.TB, f *File) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSeedsOfAnySizeSurviveJSON(t *testing.T) {
	seed := uint64(1<<64 - 1)
	f, err := New(Buffer, Choice{Seed: &seed})
	if err != nil {
		t.Fatal(err)
	}
	f.Started = time.Time{}
	var loose map[string]any
	if err := json.Unmarshal([]byte(textOf(t, f)), &loose); err != nil || loose["seed"] != "18446744073709551615" {
		t.Errorf("%v, %v", loose["seed"], err)
	}
	if got := reload(t, []byte(textOf(t, f))); got.Seed != seed {
		t.Errorf("%d", got.Seed)
	}
}
