package matrix

import (
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab/machine"
)

// Kind and Schema are what the JSON of a File begins with.
const (
	Kind   = "matrix"
	Schema = 1
)

// A File is a grid that was measured, or begun: it is what a run resumes from.
type File struct {
	Kind        string          `json:"kind"`
	Schema      int             `json:"schema"`
	Version     string          `json:"version,omitempty"`
	Command     []string        `json:"command"`
	Machine     machine.Machine `json:"machine"`
	Started     time.Time       `json:"started"`
	Seconds     float64         `json:"seconds"` // spent measuring, over all sittings
	Interrupted bool            `json:"interrupted,omitempty"`
	Name        string          `json:"name"` // size-conns, rate-durability, buffer
	Title       string          `json:"title"`
	Seed        uint64          `json:"seed,string"`
	Repeats     int             `json:"repeats"` // rounds that were asked for
	CellTime    time.Duration   `json:"cell_ns"`
	Layers      []string        `json:"layers"` // engines, or modes of durability
	Rows        Axis            `json:"rows"`
	Columns     Axis            `json:"columns"`
	Figures     []Figure        `json:"figures"` // what cells have, the main one first
	Cells       []Cell          `json:"cells"`
	Knees       []Knee          `json:"knees,omitempty"` // one a layer where the grid has one
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
	Jitter     = "jitter"     // ns
	TargetCPU  = "target-cpu" // ns a request
)

// A Cell is one combination.
type Cell struct {
	Layer  int   `json:"layer"`
	Row    int   `json:"row"`
	Column int   `json:"column"`
	Runs   []Run `json:"runs"`
}

// A Run is one measurement of a cell.
type Run struct {
	Round   int                `json:"round"`
	Place   int                `json:"place"` // when it ran within its round
	Valid   bool               `json:"valid"`
	Reason  string             `json:"reason,omitempty"`
	Figures map[string]float64 `json:"figures"` // an invalid run has throughput and iops only
}

// A Knee is where more of the axis stops paying.
type Knee struct {
	Layer  int     `json:"layer"`
	Along  string  `json:"along"`  // the axis' name
	Column int     `json:"column"` // or row, of the grid's varied axis
	Value  float64 `json:"value"`
	Label  string  `json:"label"`
	Rule   string  `json:"rule"` // in words
	Figure string  `json:"figure"`
}
