package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/load"
)

func TestTheGridsAreThoseThatAreAskedFor(t *testing.T) {
	for name, want := range map[string]struct{ rows, columns, layers, cells int }{
		SizeConns: {8, 6, 3, 144}, RateDurability: {5, 3, 3, 45}, Buffer: {5, 6, 3, 65}, // aio has one column
		RateNetwork: {4, 4, 3, 48},
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
		{SizeConns, "1KiB,64B, 4096", "16,1, 4", "64 B,1 KiB,4 KiB|1,4,16"},
		{SizeConns, "64,64,256", "1000", "64 B,256 B|1000"},
		{SizeConns, "1M,64M", "65536", "1 MiB,64 MiB|65536"},
		{RateDurability, "max,50", "1K,16K", "50,max|1 KiB,16 KiB"},
		{RateDurability, "0", "1", "max|1 B"},
		{RateNetwork, "max,20", "none,1ms,2s", "20,max|none,1ms,2s"},
		{RateDurability, "0.5", "1", "0.5|1 B"},
		{Buffer, "4K,64K", "none,64K", "4 KiB,64 KiB|none,64 KiB"},
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
		{SizeConns, Choice{Columns: "inf"}, "not within"},
		{SizeConns, Choice{Rows: "nan"}, "nan"},
		{SizeConns, Choice{Columns: "1.5"}, "whole number"},
		{SizeConns, Choice{Rows: "64,"}, `""`},
		{RateNetwork, Choice{Layers: []string{"much"}}, "much"},
		{Buffer, Choice{Target: &load.Plan{Target: "127.0.0.1:1"}}, "starts its own"},
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
	for says, change := range map[string]func(*File){
		"processor Z80": func(f *File) { f.Machine.CPU = "Z80" },
		"cores 4096":    func(f *File) { f.Machine.Cores = 4096 },
		"Go go1.0":      func(f *File) { f.Machine.Go = "go1.0" },
		"1.2.13":        func(f *File) { f.Machine.Kernel = "1.2.13" },
	} {
		old := measured(t, SizeConns)
		change(old)
		if err := old.Resume(SizeConns, 0); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if err := measured(t, SizeConns).Resume(Buffer, 0); !errors.Is(err, ErrOther) {
		t.Errorf("another grid: %v", err)
	}
}

func TestResumeTakesMoreRounds(t *testing.T) {
	f := measured(t, Buffer)
	if err := f.Resume(Buffer, 5); err != nil || f.Missing() != 2*len(f.Cells) {
		t.Errorf("%v, %d missing", err, f.Missing())
	}
	f = measured(t, Buffer)
	if err := f.Resume(Buffer, 1); err != nil || f.Repeats != 3 || f.Missing() != 0 {
		t.Errorf("%v, %d rounds, %d missing", err, f.Repeats, f.Missing())
	}
}
