package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
)

// A Choice is what is measured of a grid. Zero values are the grid's own.
type Choice struct {
	Layers        []string
	Rows, Columns string // values, separated by commas
	Quick         bool   // a coarse grid in short runs, within a minute
	Rounds        int
	Cell          time.Duration // of a run, with its warm-up
	Seed          *uint64
	// Target is a load on a server that runs already: its address, protocol and requests. With
	// nil, targets are started.
	Target *load.Plan
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
	return k.layers.name, nil
}

// New returns a grid that is chosen and has no runs yet.
func New(name string, c Choice) (*File, error) {
	k, err := lookup(name)
	if err != nil {
		return nil, err
	}
	f := &File{
		Origin: load.Origin{Kind: Kind, Schema: Schema, Machine: machine.This(), Started: time.Now()}, Name: k.name, Title: k.title, Seed: 1,
		Repeats: rounds, CellTime: k.cell, Layers: slices.Clone(k.layers.all), Figures: slices.Clone(k.figures), NoiseOf: k.noiseOf,
		Interrupted: true, Target: c.Target,
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
	if c.Target != nil {
		if !k.anyTarget {
			return nil, fmt.Errorf("%s starts its own targets: --target is for %s", name, strings.Join(Names(), " and "))
		}
		f.Title += ", on " + c.Target.Target
		if !k.network {
			f.Layers = []string{"target"}
		}
	}
	for _, layer := range f.Layers {
		if err := k.layers.check(layer); err != nil && c.Target == nil {
			return nil, err
		}
	}
	if f.Rows, err = k.rows.axis(c.Rows, c.Quick); err != nil {
		return nil, err
	}
	if c.Target != nil && !k.network && !c.Target.HasSizes() {
		f.Rows = Axis{Name: "request", Unit: "request", Values: []float64{1}, Labels: []string{"as it is"}}
	}
	if f.Columns, err = k.columns.axis(c.Columns, c.Quick); err != nil {
		return nil, err
	}
	for layer, name := range f.Layers {
		for row := range f.Rows.Values {
			for column, v := range f.Columns.Values {
				if k.has == nil || k.has(name, v) {
					f.Cells = append(f.Cells, Cell{Layer: layer, Row: row, Column: column, Runs: []Run{}})
				}
			}
		}
	}
	if len(f.Cells) == 0 {
		return nil, errors.New("nothing is left of the grid: the engine aio has no write buffer")
	}
	return f, f.Check()
}

// ErrOther is the error, wrapped, of Resume for a file that does not belong to the
// measurement asked for.
var ErrOther = errors.New("the file is of another grid or machine")

// Resume prepares a file to be gone on with, as the grid of that name, in at least so many
// rounds. On another machine, or with another Go, the error is an ErrOther that says what
// differs.
func (f *File) Resume(name string, rounds int) error {
	if f.Name != name {
		return fmt.Errorf("%w: it has %s, not %s", ErrOther, f.Name, name)
	}
	here := machine.This()
	for _, d := range machine.Differences(f.Machine, here) {
		if d.Weighs || d.Name == "Go" || d.Name == "kernel" {
			return fmt.Errorf("%w: %s %s, not %s", ErrOther, d.Name, d.A, d.B)
		}
	}
	f.Repeats = max(f.Repeats, rounds)
	f.Interrupted = f.Missing() > 0
	return f.Check()
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

// missing lists the runs that are missing, by their cells.
func (f *File) missing() (list []*Cell) {
	for i := range f.Cells {
		for round := 1; round <= f.Repeats; round++ {
			if !f.Cells[i].has(round) {
				list = append(list, &f.Cells[i])
			}
		}
	}
	return list
}

// Missing is how many runs are missing.
func (f *File) Missing() int { return len(f.missing()) }

func (c *Cell) has(round int) bool {
	return slices.ContainsFunc(c.Runs, func(r Run) bool { return r.Round == round })
}

// Estimate is about how long it takes to measure what is missing.
func (f *File) Estimate() (sum time.Duration) {
	for _, c := range f.missing() {
		sum += f.span(c) + overhead
	}
	return sum
}

// span is how long a cell is measured, with its warm-up.
func (f *File) span(c *Cell) time.Duration {
	k, err := lookup(f.Name)
	if err != nil {
		return f.CellTime
	}
	p := f.plan(k, c)
	underWay := float64(p.Conns) * float64(p.Depth) * float64(p.Sizes.Max)
	return max(f.CellTime, min(longestCell, time.Duration(underWay/slowest*float64(time.Second))))
}
