package matrix

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
)

// Kind and Schema are what the JSON of a File begins with.
const (
	Kind   = "matrix"
	Schema = 2
)

// A File is a grid that was measured.
type File struct {
	machine.Origin
	Seconds  float64       `json:"seconds"`
	Name     string        `json:"name"` // one of Names
	Title    string        `json:"title"`
	Target   *load.Plan    `json:"target,omitempty"` // of a server that ran already; nil where targets were started
	Seed     uint64        `json:"seed,string"`
	Repeats  int           `json:"repeats"` // rounds that were asked for
	CellTime time.Duration `json:"cell_ns"`
	Layers   []string      `json:"layers"` // engines, or jitters of the network
	Rows     Axis          `json:"rows"`
	Columns  Axis          `json:"columns"`
	Figures  []Figure      `json:"figures"` // what cells have, the main one first
	Cells    []Cell        `json:"cells"`
	Knees    []Knee        `json:"knees,omitempty"` // one a layer and row where the grid has them
	// Noise is the median over the cells of the noise of the figure NoiseOf, as a
	// share of it; 0 as long as no cell has two runs.
	Noise   float64 `json:"noise"`
	NoiseOf string  `json:"noise_of"`
}

// An Axis is one side of the grid.
type Axis struct {
	Name   string    `json:"name"`   // "size"
	Unit   string    `json:"unit"`   // "B", "connections", "requests/s"
	Values []float64 `json:"values"` // 0 of a rate is: as fast as it goes
	Labels []string  `json:"labels"` // "1 KiB"
}

// A Figure is one of the things measured in a cell.
type Figure struct {
	Name   string `json:"name"` // a key of Run.Figures
	Title  string `json:"title"`
	Metric string `json:"metric"` // a name whose last word is the unit, as lab's metrics: "ns", "B/s", "/s"
	More   bool   `json:"more"`   // more is better
}

// Names of figures.
const (
	Throughput = "throughput" // payload bytes a second
	IOPS       = "iops"       // requests a second
	Median     = "p50"        // ns
	P99        = "p99"        // ns
	TargetCPU  = "target-cpu" // ns a request
)

// A Cell is one combination.
type Cell struct {
	Layer  int   `json:"layer"`
	Row    int   `json:"row"`
	Column int   `json:"column"`
	Runs   []Run `json:"runs"` // in the order of their rounds
	// Noise of a figure is half the range of the runs over their median, from
	// five runs on without the one that is farthest from it. A figure that has
	// fewer than two is not there.
	Noise map[string]float64 `json:"noise,omitempty"`
}

// A Run is one measurement of a cell.
type Run struct {
	Valid  bool      `json:"valid"`
	Reason string    `json:"reason,omitempty"`
	Code   load.Code `json:"code,omitempty"` // of the first reason, where the load gave one
	// Behind says that the run is invalid because the target did not take the rate:
	// throughput and iops are what it took, and no lower bounds.
	Behind   bool               `json:"behind,omitempty"`
	Requests uint64             `json:"requests"` // that the figures rest on
	Figures  map[string]float64 `json:"figures"`  // an invalid run has throughput and iops only, or nothing if it did not begin
}

// A Knee is where more of the axis stops paying.
type Knee struct {
	Layer  int    `json:"layer"`
	Row    int    `json:"row"`
	Column int    `json:"column"`
	Along  string `json:"along"` // the axis' name
	Label  string `json:"label"`
	Rule   string `json:"rule"` // in words
	Figure string `json:"figure"`
	// Open says that more might still pay: the grid ends there, or beyond it the
	// generator was the limit, as Note says.
	Open bool   `json:"open,omitempty"`
	Note string `json:"note,omitempty"`
}

// Bounds of a File.
const (
	maxLayers   = 16
	maxRounds   = 1000
	leastCell   = 50 * time.Millisecond
	longestCell = time.Hour
)

// Check finds what everything else relies on, in a file that was read: that no number is
// negative is for its reader to check.
func (f *File) Check() error {
	switch {
	case len(f.Layers) < 1 || len(f.Layers) > maxLayers:
		return fmt.Errorf("%d layers", len(f.Layers))
	case len(f.Figures) < 1 || len(f.Figures) > 32:
		return fmt.Errorf("%d figures", len(f.Figures))
	case f.Repeats < 1 || f.Repeats > maxRounds:
		return fmt.Errorf("%d rounds", f.Repeats)
	case f.CellTime < leastCell || f.CellTime > longestCell:
		return fmt.Errorf("cells of %v", f.CellTime)
	case !slices.ContainsFunc(f.Figures, func(g Figure) bool { return g.Name == f.NoiseOf }):
		return fmt.Errorf("the noise is that of %q, which is no figure of the grid", f.NoiseOf)
	case len(f.Cells) < 1:
		return errors.New("no cells")
	}
	if err := errors.Join(f.Rows.check(), f.Columns.check()); err != nil {
		return err
	}
	seen := map[[3]int]bool{}
	for i := range f.Cells {
		c := &f.Cells[i]
		at := [3]int{c.Layer, c.Row, c.Column}
		switch {
		case !f.has(at):
			return fmt.Errorf("cell %v is not in the grid", at)
		case seen[at]:
			return fmt.Errorf("cell %v is there twice", at)
		case len(c.Runs) > f.Repeats:
			return fmt.Errorf("cell %v has %d runs in %d rounds", at, len(c.Runs), f.Repeats)
		}
		seen[at] = true
	}
	for _, k := range f.Knees {
		if !f.has([3]int{k.Layer, k.Row, k.Column}) {
			return fmt.Errorf("the knee %q is not in the grid", k.Label)
		}
	}
	return nil
}

func (f *File) has(at [3]int) bool {
	return at[0] >= 0 && at[0] < len(f.Layers) && at[1] >= 0 && at[1] < len(f.Rows.Values) && at[2] >= 0 && at[2] < len(f.Columns.Values)
}

func (a *Axis) check() error {
	if len(a.Values) < 1 || len(a.Values) > maxValues || len(a.Labels) != len(a.Values) {
		return fmt.Errorf("axis %q has %d values and %d labels", a.Name, len(a.Values), len(a.Labels))
	}
	return nil
}
