package matrix

import (
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
)

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

const (
	Throughput = "throughput" // payload bytes a second
	IOPS       = "iops"       // requests a second
	Median     = "p50"        // ns
	P99        = "p99"        // ns
	Jitter     = "p99-jitter" // ns
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
