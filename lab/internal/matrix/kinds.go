package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// Names of grids.
const (
	SizeConns      = "size-conns"
	RateNetwork    = "rate-network"
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
	layers        layers
	rows, columns scale
	figures       []Figure // the first is the one that knees go by
	noiseOf       string   // the figure whose noise is said
	cell          time.Duration
	quickCell     time.Duration
	knee          string // what there is a knee of; empty for none
	bothAxes      bool   // the knee is of rows and columns together
	anyTarget     bool   // it can be measured on a server that runs already
	network       bool   // the layer is jitter and the column latency
	// has reports whether the grid has a cell; nil: it has all.
	has    func(layer string, column float64) bool
	target func(layer string, row, column float64) Target
	// shape completes a plan for a cell.
	shape func(p *load.Plan, row, column float64)
}

// layers are what a grid has a table for each of.
type layers struct {
	name string
	all  []string
}

func (l *layers) check(layer string) error {
	if slices.Contains(l.all, layer) {
		return nil
	}
	if _, err := time.ParseDuration(layer); err == nil && l.name == "jitter" {
		return nil
	}
	return fmt.Errorf("there is no %s %q, there are %s", l.name, layer, strings.Join(l.all, ", "))
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
var engines = layers{"engine", []string{"std", "aio", "bufreader"}}

var kinds = []*kind{
	{
		name: SizeConns, title: "one request at a time on each connection", anyTarget: true, knee: "connections",
		layers: engines,
		rows: scale{
			name: "size", unit: "B", from: 1, to: load.MaxSize,
			all:   []float64{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20},
			quick: []float64{64, 4 << 10, 64 << 10, 1 << 20},
		},
		columns: scale{
			name: "connections", unit: "connections", from: 1, to: load.MaxConns,
			all:   []float64{1, 4, 16, 64, 256, 1024},
			quick: []float64{1, 16, 256},
		},
		figures: []Figure{throughput, p99, iops, median, targetCPU}, noiseOf: Throughput,
		cell: time.Second, quickCell: 500 * time.Millisecond,
		target: func(layer string, _, _ float64) Target { return echoTarget(layer, 64<<10, 0) },
		shape:  func(p *load.Plan, row, column float64) { p.Sizes, p.Conns = load.OneSize(int(row)), int(column) },
	},
	{
		name: RateNetwork, title: "requests at a rate over 16 connections, through a network with latency and jitter each way", anyTarget: true, network: true,
		layers: layers{"jitter", []string{"0s", "1ms", "10ms"}},
		rows: scale{
			name: "rate", unit: "requests/s", from: 0.1, to: 1e7, zero: "max",
			all:   []float64{100, 1000, 5000, 0},
			quick: []float64{100, 1000},
		},
		columns: scale{
			name: "latency", unit: "ns", from: 0, to: float64(10 * time.Second), zero: "none",
			all:   []float64{0, 1e6, 10e6, 50e6},
			quick: []float64{0, 10e6},
		},
		figures: []Figure{iops, median, p99, jitter}, noiseOf: Median,
		cell: 2 * time.Second, quickCell: time.Second,
		target: func(string, float64, float64) Target { return echoTarget("std", 64<<10, 0) },
		shape:  func(p *load.Plan, row, _ float64) { p.Rate, p.Conns, p.Depth = row, 16, 64 },
	},
	{
		name: RateDurability, title: "appended records over 16 connections; max is 64 under way all the time",
		layers: layers{"durability", []string{"async", "sync", "raft"}},
		rows: scale{
			name: "rate", unit: "requests/s", from: 0.1, to: 1e7, zero: "max",
			all:   []float64{50, 100, 200, 400, 0},
			quick: []float64{100, 400, 0},
		},
		columns: scale{
			name: "size", unit: "B", from: 1, to: 4 << 20, // sink's --max-record
			all:   []float64{1 << 10, 16 << 10, 256 << 10},
			quick: []float64{1 << 10, 16 << 10},
		},
		figures: []Figure{throughput, median, p99, jitter, iops, targetCPU}, noiseOf: Median, // throughput is the rate
		cell: 2 * time.Second, quickCell: 900 * time.Millisecond,
		target: func(layer string, _, _ float64) Target {
			args := []string{"sink", "127.0.0.1:0", "--durability", layer}
			if layer == "raft" {
				args = append(args, "--trio")
			}
			return Target{Args: args, Keeps: true}
		},
		shape: func(p *load.Plan, row, column float64) {
			p.Protocol, p.Conns, p.Depth = load.Ack, 16, 4
			p.Rate, p.Sizes = row, load.OneSize(int(column))
		},
	},
	{
		name: Buffer, title: "a stream of frames of 16 KiB, 128 under way on one connection", knee: "buffer bytes", bothAxes: true,
		layers: engines,
		rows: scale{
			name: "read buffer", unit: "B", from: 16, to: 64 << 20,
			all:   []float64{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20},
			quick: []float64{4 << 10, 64 << 10, 1 << 20},
		},
		columns: scale{
			name: "write buffer", unit: "B", from: 16, to: 64 << 20, zero: "none",
			all:   []float64{0, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20},
			quick: []float64{0, 64 << 10, 1 << 20},
		},
		figures: []Figure{iops, median, p99, throughput, targetCPU}, noiseOf: IOPS,
		cell: time.Second, quickCell: 500 * time.Millisecond,
		has:    func(layer string, column float64) bool { return layer != "aio" || column == 0 }, // it has no write buffer
		target: func(layer string, row, column float64) Target { return echoTarget(layer, int(row), int(column)) },
		shape:  func(p *load.Plan, _, _ float64) { p.Sizes, p.Depth = load.OneSize(16<<10), 128 },
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
func Names() (names []string) {
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
	return nil, fmt.Errorf("there is no grid %q, there are %s", name, strings.Join(Names(), ", "))
}

// slowest is how fast, in bytes a second, what is under way passes at least: a
// cell is measured for so long that all of it could pass. It is a fraction of what
// loopback does, since a gigabyte under way is more than the kernel likes.
const slowest = 128 << 20

// plan is the load of a cell, without its target's address, its times and its seed.
func (f *File) plan(k *kind, c *Cell) load.Plan {
	p := load.Default()
	if f.Target != nil {
		p = *f.Target
	}
	k.shape(&p, f.Rows.Values[c.Row], f.Columns.Values[c.Column])
	return p
}

// with fills in what every plan has: its time, a quarter of which is the warm-up,
// and windows that fit into it.
func with(p load.Plan, span time.Duration) load.Plan {
	p.Warmup = span / 4
	p.Duration = span - p.Warmup
	w := load.DefaultWindows()
	w.Throughput = min(w.Throughput, p.Duration)
	w.Mean = max(min(w.Mean, p.Duration), w.Throughput)
	w.P99 = min(w.P99, p.Duration)
	w.Jitter = max(min(w.Jitter, p.Duration), w.P99)
	p.Windows = w
	return p
}
