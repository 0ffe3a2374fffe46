package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheGridsAreThoseThatAreAskedFor(t *testing.T) {
	for name, want := range map[string]struct{ rows, columns, layers, cells int }{
		SizeConns: {8, 6, 3, 144}, RateDurability: {5, 3, 3, 45}, Buffer: {5, 6, 3, 65}, // aio has one column
	} {
		f, err := New(name, Choice{})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(len(f.Rows.Values), len(f.Columns.Values), len(f.Layers), len(f.Cells)); got != fmt.Sprint(want.rows, want.columns, want.layers, want.cells) {
			t.Errorf("%s: %s", name, got)
		}
		if f.Repeats != 3 || f.Seed != 1 || f.Missing() != 3*len(f.Cells) || f.Machine.Cores < 1 {
			t.Errorf("%s: %d rounds, seed %d, %d missing", name, f.Repeats, f.Seed, f.Missing())
		}
		quick, err := New(name, Choice{Quick: true})
		if err != nil || len(quick.Cells) >= len(f.Cells)/2 {
			t.Errorf("%s: %d cells with --quick, %v", name, len(quick.Cells), err)
		}
		for _, v := range quick.Rows.Values {
			if !slices.Contains(f.Rows.Values, v) {
				t.Errorf("%s: %v only with --quick", name, v)
			}
		}
	}
}

func TestAxes(t *testing.T) {
	for _, c := range []struct {
		grid, rows, columns, want string
	}{
		{SizeConns, "64", "1", "64 B|1"},
		{SizeConns, "1KiB,64B, 4096", "1..16", "64 B,1 KiB,4 KiB|1,4,16"},
		{SizeConns, "64,64,64..256", "1000", "64 B,256 B|1000"},
		{SizeConns, "1M,64M", "65536", "1 MiB,64 MiB|65536"},
		{RateDurability, "max,50", "1K..16K", "50,max|1 KiB,16 KiB"},
		{RateDurability, "0", "1", "max|1 B"},
		{RateDurability, "200..max", "1", "200,400,max|1 B"},
		{RateDurability, "0.5", "1", "0.5|1 B"},
		{Buffer, "4K..64K", "none,64K", "4 KiB,16 KiB,64 KiB|none,64 KiB"},
		{Buffer, "16", "0", "16 B|none"},
	} {
		f, err := New(c.grid, Choice{Rows: c.rows, Columns: c.columns})
		if err != nil {
			t.Errorf("%s %s %s: %v", c.grid, c.rows, c.columns, err)
			continue
		}
		if got := strings.Join(f.Rows.Labels, ",") + "|" + strings.Join(f.Columns.Labels, ","); got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.grid, c.rows, c.columns, got, c.want)
		}
		// Labels are what can be asked for.
		again, err := New(c.grid, Choice{Rows: strings.Join(f.Rows.Labels, ","), Columns: strings.Join(f.Columns.Labels, ",")})
		if err != nil || !slices.Equal(again.Rows.Values, f.Rows.Values) || !slices.Equal(again.Columns.Values, f.Columns.Values) {
			t.Errorf("%s: %v, %v", c.want, again, err)
		}
	}
	for _, c := range []struct {
		grid string
		Choice
		says string
	}{
		{"colours", Choice{}, "colours"},
		{SizeConns, Choice{Rows: "0"}, "size of 0"},
		{SizeConns, Choice{Rows: "65M"}, "65M"},
		{SizeConns, Choice{Rows: "4KB"}, "4KB"},
		{SizeConns, Choice{Rows: "inf"}, "not within"},
		{SizeConns, Choice{Rows: "nan"}, "nan"},
		{SizeConns, Choice{Rows: "1.5"}, "whole number"},
		{SizeConns, Choice{Rows: "64,"}, `""`},
		{SizeConns, Choice{Rows: "65..127"}, "65..127"},
		{SizeConns, Choice{Columns: "65537"}, "65537"},
		{SizeConns, Choice{Columns: "many"}, "many"},
		{RateDurability, Choice{Rows: "-1"}, "-1"},
		{Buffer, Choice{Rows: "15"}, "15"},
		{Buffer, Choice{Rows: "none"}, "none"},
		{Buffer, Choice{Columns: "4K", Layers: []string{"aio"}}, "no write buffer"},
		{Buffer, Choice{Layers: []string{"raft"}}, "raft"},
		{Buffer, Choice{Layers: []string{"std", "std"}}, "twice"},
		{SizeConns, Choice{Columns: strings.Trim(strings.Repeat("1,", 40), ",") + manyValues()}, "at most 32"},
	} {
		if _, err := New(c.grid, c.Choice); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %+v: %v", c.grid, c.Choice, err)
		}
	}
}

// manyValues are more than an axis has.
func manyValues() string {
	var b strings.Builder
	for i := range maxValues + 1 {
		fmt.Fprintf(&b, ",%d", i+1)
	}
	return b.String()
}

func TestResumeRefusesWhatIsOfSomethingElse(t *testing.T) {
	seed := uint64(7)
	for name, c := range map[string]struct {
		change func(*File)
		choice Choice
		says   string
	}{
		"another processor": {change: func(f *File) { f.Machine.CPU = "Z80" }, says: "processor Z80"},
		"more cores":        {change: func(f *File) { f.Machine.Cores = 4096 }, says: "cores 4096"},
		"another Go":        {change: func(f *File) { f.Machine.Go = "go1.0" }, says: "Go go1.0"},
		"another kernel":    {change: func(f *File) { f.Machine.Kernel = "1.2.13" }, says: "1.2.13"},
		"another seed":      {choice: Choice{Seed: &seed}, says: "seed 1, not 7"},
		"other engines":     {choice: Choice{Layers: []string{"aio"}}, says: "engine std,aio,bufreader, not aio"},
		"other rows":        {choice: Choice{Rows: "1K"}, says: "size 64 B,4 KiB, not 1 KiB"},
		"other columns":     {choice: Choice{Columns: "1"}, says: "connections 1,4,16,64,256,1024, not 1"},
		"longer cells":      {choice: Choice{Cell: 5 * time.Second}, says: "time of a cell 1s, not 5s"},
	} {
		old := measured(t, SizeConns)
		if c.change != nil {
			c.change(old)
		}
		before := jsonOf(t, old)
		_, err := Resume(old, SizeConns, c.choice, false)
		if !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		f, err := Resume(old, SizeConns, c.choice, true)
		if err != nil || len(f.Forced) != 1 || !strings.Contains(f.Forced[0], c.says) {
			t.Errorf("%s, forced: %v, %+v", name, err, f)
			continue
		}
		for i := range f.Cells {
			cell := &f.Cells[i]
			known := f.Rows.Values[cell.Row] != 1024
			if known != (len(cell.Runs) == f.Repeats) {
				t.Errorf("%s, forced: %s has %d runs", name, f.label(cell), len(cell.Runs))
			}
		}
		if jsonOf(t, old) != before {
			t.Errorf("%s: the old file has changed", name)
		}
	}
	if _, err := Resume(measured(t, SizeConns), Buffer, Choice{}, true); !errors.Is(err, ErrOther) {
		t.Errorf("another grid: %v", err)
	}
}

func TestResumeTakesMoreRounds(t *testing.T) {
	old := measured(t, Buffer)
	f, err := Resume(old, Buffer, Choice{Rounds: 5}, false)
	if err != nil || f.Missing() != 2*len(f.Cells) {
		t.Errorf("%v, %d missing", err, f.Missing())
	}
	f, err = Resume(old, Buffer, Choice{Rounds: 1}, false)
	if err != nil || f.Repeats != 3 || f.Missing() != 0 {
		t.Errorf("%v, %d rounds, %d missing", err, f.Repeats, f.Missing())
	}
}
