package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
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
		if _, err := Load(iotest.OneByteReader(bytes.NewReader(text))); err != nil {
			t.Error(err)
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
		"a negative time":            func(f *File) { f.Seconds = -1 },
		"no rows":                    func(f *File) { f.Rows = Axis{} },
		"a label too few":            func(f *File) { f.Columns.Labels = f.Columns.Labels[1:] },
		"a value twice":              func(f *File) { f.Columns.Values[1] = f.Columns.Values[0] },
		"a negative value":           func(f *File) { f.Columns.Values[0] = -1 },
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
		"a negative figure":          func(f *File) { f.Cells[0].Runs[0].Figures[P99] = -1 },
		"an invalid run's latency":   func(f *File) { f.Cells[0].Runs[0].Valid = false },
		"a valid run with a reason":  func(f *File) { f.Cells[0].Runs[0].Reason = "none" },
		"a cell of a nanosecond":     func(f *File) { f.CellTime = 1 },
		"more layers than there are": func(f *File) { f.Layers = strings.Split(strings.Repeat("a,", 50), ",") },
	} {
		f := measured(t, SizeConns)
		change(f)
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(&b); !errors.Is(err, ErrFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := textOf(t, measured(t, Buffer))
	for _, text := range []string{"", "null", "{}", "[]", "7", whole + "{}", whole + "x", whole[:len(whole)/2], strings.Replace(whole, `"seed": "1"`, `"seed": "x"`, 1)} {
		if _, err := Load(strings.NewReader(text)); !errors.Is(err, ErrFile) {
			t.Errorf("%.40q…: %v", text, err)
		}
	}
	if _, err := Load(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(whole)))); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a file that cannot be read: %v", err)
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

// What loads can be printed, written and loaded again as the same, and gone on
// with or refused.
func FuzzLoad(f *testing.F) {
	for _, name := range Names() {
		file := measured(f, name)
		file.Layers, file.Cells = file.Layers[:1], file.Cells[:2]
		for i := range file.Cells {
			for j := range file.Cells[i].Runs {
				file.Cells[i].Runs[j].Place = 1 + i
			}
		}
		file.Columns.Values, file.Columns.Labels = file.Columns.Values[:2], file.Columns.Labels[:2]
		file.Derive()
		f.Add([]byte(textOf(f, file)))
	}
	f.Add([]byte(`{"kind":"matrix","schema":1,"repeats":1,"cell_ns":1000000000,"layers":["a"],"noise_of":"x","seed":"0",
		"rows":{"values":[0],"labels":["0"]},"columns":{"values":[1],"labels":["1"]},"figures":[{"name":"x"}],
		"cells":[{"runs":[{"round":1,"place":1,"valid":true,"figures":{"x":1e300}}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<20 {
			return
		}
		file, err := Load(bytes.NewReader(text))
		if err != nil {
			if !errors.Is(err, ErrFile) {
				t.Fatalf("%v", err)
			}
			return
		}
		var first bytes.Buffer
		if err := file.Write(&first); err != nil {
			t.Fatalf("%v of %s", err, text)
		}
		again, err := Load(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("%v of %s", err, first.Bytes())
		}
		var second bytes.Buffer
		if err := again.Write(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("%v: %s comes back as %s", err, first.Bytes(), second.Bytes())
		}
		if err := file.Resume(file.Name, 0); err == nil {
			if err := file.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
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
