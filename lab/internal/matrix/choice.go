package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// A Choice is what is measured of a grid. Zero values are the grid's own.
type Choice struct {
	Layers        []string
	Rows, Columns string // values and ranges, separated by commas
	Quick         bool   // a coarse grid in short runs
	Rounds        int
	Cell          time.Duration // of a run, with its warm-up
	Seed          *uint64
}

const (
	rounds      = 3
	quickRounds = 2
)

// LayerName is what the layers of a grid are called: "engine", "durability".
func LayerName(grid string) (string, error) {
	k, err := lookup(grid)
	if err != nil {
		return "", err
	}
	return k.layerName, nil
}

// New returns a grid that is chosen and has no runs yet.
func New(name string, c Choice) (*File, error) {
	k, err := lookup(name)
	if err != nil {
		return nil, err
	}
	f := &File{
		Kind: Kind, Schema: Schema, Machine: machine.This(), Started: time.Now(), Name: k.name, Title: k.title, Seed: 1,
		Repeats: rounds, CellTime: k.cell, Layers: slices.Clone(k.layers), Figures: slices.Clone(k.figures), NoiseOf: k.noiseOf,
		Interrupted: true,
	}
	if c.Quick {
		f.Repeats, f.CellTime = quickRounds, k.quickCell
	}
	if c.Seed != nil {
		f.Seed = *c.Seed
	}
	if c.Rounds != 0 {
		f.Repeats = c.Rounds
	}
	if c.Cell != 0 {
		f.CellTime = c.Cell
	}
	if c.Layers != nil {
		f.Layers = slices.Clone(c.Layers)
	}
	for _, layer := range f.Layers {
		if !slices.Contains(k.layers, layer) {
			return nil, fmt.Errorf("there is no %s %q, there are %s", k.layerName, layer, strings.Join(k.layers, ", "))
		}
	}
	if f.Rows, err = k.rows.axis(c.Rows, c.Quick); err != nil {
		return nil, err
	}
	if f.Columns, err = k.columns.axis(c.Columns, c.Quick); err != nil {
		return nil, err
	}
	f.lay(k)
	if len(f.Cells) == 0 {
		return nil, errors.New("nothing is left of the grid: the engine aio has no write buffer")
	}
	return f, f.Check()
}

// lay makes the cells of the axes.
func (f *File) lay(k *kind) {
	f.Cells = nil
	for layer, name := range f.Layers {
		for row, r := range f.Rows.Values {
			for column, c := range f.Columns.Values {
				if k.has == nil || k.has(name, r, c) {
					f.Cells = append(f.Cells, Cell{Layer: layer, Row: row, Column: column, Runs: []Run{}})
				}
			}
		}
	}
}

// ErrOther is the error, wrapped, of Resume for a file that does not belong to the
// measurement asked for.
var ErrOther = errors.New("the file is of another grid, seed or machine")

// Resume returns a file that continues old: the grid of that name, where c adds what old
// does not say. When c contradicts old, or the machine is another one, the error is an
// ErrOther that says what differs. With force, c counts instead, and the runs that fit
// into it are kept. c may always ask for more rounds than old has. old is not
// changed.
func Resume(old *File, name string, c Choice, force bool) (*File, error) {
	if old.Name != name {
		return nil, fmt.Errorf("%w: it has %s, not %s", ErrOther, old.Name, name)
	}
	k, err := lookup(name)
	if err != nil {
		return nil, err
	}
	f, err := New(name, c)
	if err != nil {
		return nil, err
	}
	var differ []string
	differs := func(what string, was, is any) {
		if was, is := fmt.Sprint(was), fmt.Sprint(is); was != is {
			differ = append(differ, fmt.Sprintf("%s %s, not %s", what, was, is))
		}
	}
	was, is := old.Machine, f.Machine
	differs("processor", was.CPU, is.CPU)
	differs("cores", was.Cores, is.Cores)
	differs("GOMAXPROCS", was.GOMAXPROCS, is.GOMAXPROCS)
	differs("system", was.OS+"/"+was.Arch+" "+was.Kernel, is.OS+"/"+is.Arch+" "+is.Kernel)
	differs("Go", was.Go, is.Go)
	differs("GOGC", was.GOGC, is.GOGC)
	if c.Seed == nil {
		f.Seed = old.Seed
	}
	differs("seed", old.Seed, f.Seed)
	if c.Layers == nil {
		f.Layers = slices.Clone(old.Layers)
	}
	differs(k.layerName, strings.Join(old.Layers, ","), strings.Join(f.Layers, ","))
	if c.Rows == "" && !c.Quick {
		f.Rows = old.Rows
	}
	differs(f.Rows.Name, strings.Join(old.Rows.Labels, ","), strings.Join(f.Rows.Labels, ","))
	if c.Columns == "" && !c.Quick {
		f.Columns = old.Columns
	}
	differs(f.Columns.Name, strings.Join(old.Columns.Labels, ","), strings.Join(f.Columns.Labels, ","))
	if c.Cell == 0 {
		f.CellTime = old.CellTime
	}
	differs("time of a cell", old.CellTime, f.CellTime)
	f.Repeats = max(old.Repeats, c.Rounds)
	if len(differ) > 0 && !force {
		return nil, fmt.Errorf("%w: %s", ErrOther, strings.Join(differ, "; "))
	}
	f.Started, f.Seconds = old.Started, old.Seconds
	f.Forced = append(slices.Clone(old.Forced), differ...)
	f.lay(k)
	f.adopt(old)
	if err := f.Check(); err != nil {
		return nil, err
	}
	f.Derive()
	return f, nil
}

// adopt takes over the runs of old that have a place in f.
func (f *File) adopt(old *File) {
	at := map[string]*Cell{}
	for i := range f.Cells {
		at[f.place(&f.Cells[i])] = &f.Cells[i]
	}
	for i := range old.Cells {
		to := at[old.place(&old.Cells[i])]
		if to == nil {
			continue
		}
		for _, r := range old.Cells[i].Runs {
			if r.Round <= f.Repeats+maxAgain {
				r.Place = min(r.Place, len(f.Cells))
				to.Runs = append(to.Runs, r)
			}
		}
	}
}

// place names a cell, the same in each grid that has it.
func (f *File) place(c *Cell) string {
	return fmt.Sprintf("%s %v %v", f.Layers[c.Layer], f.Rows.Values[c.Row], f.Columns.Values[c.Column])
}

// label names a cell for people.
func (f *File) label(c *Cell) string {
	return fmt.Sprintf("%s, %s %s, %s %s", f.Layers[c.Layer], f.Rows.Name, f.Rows.Labels[c.Row], f.Columns.Name, f.Columns.Labels[c.Column])
}

// overhead is about what a run takes beside the cell's time: connections are
// made, the file is written.
const overhead = 100 * time.Millisecond

// Missing is how many runs are missing, without those that outliers will ask for.
func (f *File) Missing() int {
	n := 0
	for i := range f.Cells {
		for round := 1; round <= f.Repeats; round++ {
			if !f.Cells[i].has(round) {
				n++
			}
		}
	}
	return n
}

func (c *Cell) has(round int) bool {
	return slices.ContainsFunc(c.Runs, func(r Run) bool { return r.Round == round })
}

// Estimate is about how long it takes to measure what is missing.
func (f *File) Estimate() (sum time.Duration) {
	for i := range f.Cells {
		each := f.span(&f.Cells[i]) + overhead
		for round := 1; round <= f.Repeats; round++ {
			if !f.Cells[i].has(round) {
				sum += each
			}
		}
	}
	return sum
}

// span is how long a cell is measured.
func (f *File) span(c *Cell) time.Duration {
	k, err := lookup(f.Name)
	if err != nil {
		return f.CellTime
	}
	return k.span(f.Rows.Values[c.Row], f.Columns.Values[c.Column], f.CellTime)
}

// shortest is how short Fit makes a cell.
const shortest = 200 * time.Millisecond

// Fit makes a new grid take no longer than limit: fewer rounds first, then
// shorter cells, unless the choice fixes them. It says so when that is not
// enough.
func (f *File) Fit(limit time.Duration, c Choice) error {
	if c.Rounds == 0 {
		for f.Repeats > 1 && f.Estimate() > limit {
			f.Repeats--
		}
	}
	for c.Cell == 0 && f.Estimate() > limit && f.CellTime > shortest {
		f.CellTime = max(shortest, (f.CellTime * 9 / 10).Truncate(10*time.Millisecond))
	}
	if need := f.Estimate(); need > limit {
		return fmt.Errorf("%d runs of %v take about %s, more than %v: choose fewer with --rows, --columns, --rounds or --cell", f.Missing(), f.CellTime, units.Span(need), limit)
	}
	return nil
}
