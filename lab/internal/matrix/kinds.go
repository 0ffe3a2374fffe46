package matrix

import (
	"fmt"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// Names of grids.
const (
	SizeConns      = "size-conns"
	RateDurability = "rate-durability"
	Buffer         = "buffer"
)

// A Target is a process of the program that cells are measured against. Cells
// with equal ones share it.
type Target struct {
	Args []string // of the program
	// Keeps says that it keeps files, and may have to elect a leader before it
	// answers.
	Keeps bool
}

// kind is what a grid is made of.
type kind struct {
	name, title   string
	layerName     string // what layers are called
	layers        []string
	rows, columns scale
	figures       []Figure
	shown         int    // so many of the figures are printed
	noiseOf       string // the figure that decides what is an outlier
	cell          time.Duration
	quickCell     time.Duration
	// has reports whether the grid has a cell; nil: it has all.
	has    func(layer string, row, column float64) bool
	target func(layer string, row, column float64) Target
	plan   func(row, column float64) load.Plan // Target, Seed and times are the caller's
	knees  func(f *File) []Knee                // nil for none
}

var (
	throughput = Figure{Throughput, "throughput", "B/s", true}
	iops       = Figure{IOPS, "requests a second", "/s", true}
	median     = Figure{Median, "median latency", "ns", false}
	p99        = Figure{P99, "P99", "ns", false}
	jitter     = Figure{Jitter, "jitter of the P99", "ns", false}
	targetCPU  = Figure{TargetCPU, "target's CPU a request", "ns", false}
)

// engines are those of lab echo.
var engines = []string{"std", "aio", "bufreader"}

var kinds = []*kind{
	{
		name: SizeConns, title: "echo of one request at a time on each connection, reads of 64 KiB",
		layerName: "engine", layers: engines,
		rows: scale{
			name: "size", unit: "B", bytes: true, least: 1, most: load.MaxSize,
			all:   []float64{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20},
			quick: []float64{64, 4 << 10, 64 << 10, 1 << 20},
		},
		columns: scale{
			name: "connections", unit: "connections", least: 1, most: load.MaxConns,
			all:   []float64{1, 4, 16, 64, 256, 1024},
			quick: []float64{1, 16, 256},
		},
		figures: []Figure{throughput, p99, iops, median, targetCPU}, shown: 2, noiseOf: Throughput,
		cell: time.Second, quickCell: 500 * time.Millisecond,
		target: func(layer string, _, _ float64) Target { return echoTarget(layer, 64<<10, 0) },
		plan: func(row, column float64) load.Plan {
			p := load.Default()
			p.Sizes, p.Conns = load.OneSize(int(row)), int(column)
			return p
		},
		knees: crowdKnees,
	},
	{
		name: RateDurability, title: "appended records over 16 connections; max is 64 under way all the time",
		layerName: "durability", layers: []string{"async", "sync", "raft"},
		rows: scale{
			name: "rate", unit: "requests/s", least: 0.1, most: 1e7, zero: "max",
			all:   []float64{50, 100, 200, 400, 0},
			quick: []float64{100, 400, 0},
		},
		columns: scale{
			name: "size", unit: "B", bytes: true, least: 1, most: 4 << 20, // sink's --max-record
			all:   []float64{1 << 10, 16 << 10, 256 << 10},
			quick: []float64{1 << 10, 16 << 10},
		},
		figures: []Figure{throughput, median, p99, jitter, iops, targetCPU}, shown: 4, noiseOf: Median, // throughput is the rate
		cell: 2 * time.Second, quickCell: 900 * time.Millisecond,
		target: func(layer string, _, _ float64) Target {
			args := []string{"sink", "127.0.0.1:0", "--durability", layer}
			if layer == "raft" {
				args = append(args, "--trio")
			}
			return Target{Args: args, Keeps: true}
		},
		plan: func(row, column float64) load.Plan {
			p := load.Default()
			p.Protocol, p.Conns, p.Depth = load.Ack, 16, 4
			p.Rate, p.Sizes = row, load.OneSize(int(column))
			return p
		},
	},
	{
		name: Buffer, title: "a stream of frames of 16 KiB, 128 under way on one connection",
		layerName: "engine", layers: engines,
		rows: scale{
			name: "read buffer", unit: "B", bytes: true, least: 16, most: 64 << 20,
			all:   []float64{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20},
			quick: []float64{4 << 10, 64 << 10, 1 << 20},
		},
		columns: scale{
			name: "write buffer", unit: "B", bytes: true, least: 16, most: 64 << 20, zero: "none",
			all:   []float64{0, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20},
			quick: []float64{0, 64 << 10, 1 << 20},
		},
		figures: []Figure{iops, median, p99, throughput, targetCPU}, shown: 3, noiseOf: IOPS,
		cell: time.Second, quickCell: 500 * time.Millisecond,
		has: func(layer string, _, column float64) bool {
			return layer != "aio" || column == 0 // it has no write buffer
		},
		target: func(layer string, row, column float64) Target { return echoTarget(layer, int(row), int(column)) },
		plan: func(_, _ float64) load.Plan {
			p := load.Default()
			p.Sizes, p.Depth = load.OneSize(16<<10), 128
			return p
		},
		knees: bufferKnees,
	},
}

func echoTarget(engine string, read, write int) Target {
	args := []string{"echo", "127.0.0.1:0", "--engine", engine, "--buffer", strconv.Itoa(read)}
	if write > 0 {
		args = append(args, "--write-buffer", strconv.Itoa(write))
	}
	return Target{Args: args}
}

// Names are those of the grids.
func Names() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// lookup finds a grid.
func lookup(name string) (*kind, error) {
	for _, k := range kinds {
		if k.name == name {
			return k, nil
		}
	}
	return nil, fmt.Errorf("there is no grid %q, there are size-conns, rate-durability and buffer", name)
}

// slowest is how fast, in bytes a second, what is under way passes at least: a
// cell is measured for so long that all of it could pass. It is a fraction of what
// loopback does, since a gigabyte under way is more than the kernel likes.
const slowest = 128 << 20

// span is how long a cell is measured, with its warm-up.
func (k *kind) span(row, column float64, cell time.Duration) time.Duration {
	p := k.plan(row, column)
	underWay := float64(p.Conns) * float64(p.Depth) * float64(p.Sizes.Max)
	return max(cell, min(longestCell, time.Duration(underWay/slowest*float64(time.Second))))
}

// with fills in what every plan has: its time, a quarter of which is the warm-up,
// and windows that fit into it.
func with(p load.Plan, span time.Duration) load.Plan {
	p.Warmup = span / 4
	p.Duration = span - p.Warmup
	p.Windows.Throughput = min(p.Windows.Throughput, p.Duration)
	p.Windows.Mean = max(min(p.Windows.Mean, p.Duration), p.Windows.Throughput)
	p.Windows.P99 = min(p.Windows.P99, p.Duration)
	p.Windows.Jitter = max(min(p.Windows.Jitter, p.Duration), p.Windows.P99)
	return p
}
