package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/units"
)

const (
	SizeConns      = "size-conns"
	RateNetwork    = "rate-network"
	RateDurability = "rate-durability"
)

type kind struct {
	name, title   string
	layers        []string
	network       bool // the layers are jitters of the network, whose latency is the column; else kinds of targets
	rows, columns scale
	// serve is how this program is started as the target of a layer.
	serve           func(layer string) []string
	fixed           bool     // that is the only target it can be measured on
	figures         []Figure // the first is the one that knees go by
	noiseOf         string   // the figure whose noise is said
	cell, quickCell time.Duration
	knees           bool
	// shape completes a plan for a cell.
	shape func(p *load.Plan, row, column float64)
}

var (
	throughput = Figure{Throughput, "throughput", "B/s", true}
	iops       = Figure{IOPS, "requests a second", "/s", true}
	median     = Figure{Median, "median latency", "ns", false}
	p99        = Figure{P99, "P99", "ns", false}
	jitter     = Figure{Jitter, "jitter of the P99", "ns", false}
	targetCPU  = Figure{TargetCPU, "target's CPU a request", "ns", false}
)

var kinds = []*kind{
	{
		name: SizeConns, title: "one request at a time on each connection",
		layers: []string{"std", "aio"}, serve: echo, knees: true,
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
		shape: func(p *load.Plan, row, column float64) { p.Sizes, p.Conns = load.OneSize(int(row)), int(column) },
	},
	{
		name: RateNetwork, title: "requests at a rate over 16 connections, through a network with latency and jitter each way",
		layers: []string{"0s", "1ms", "10ms"}, network: true, serve: func(string) []string { return echo("std") },
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
		shape: func(p *load.Plan, row, _ float64) { p.Rate, p.Conns, p.Depth = row, 16, 64 },
	},
	{
		name: RateDurability, title: "records kept at a rate over 16 connections; max is 64 under way all the time",
		layers: []string{"async", "sync", "raft"}, serve: sink, fixed: true,
		rows: scale{
			name: "rate", unit: "requests/s", from: 0.1, to: 1e7, zero: "max",
			all:   []float64{50, 100, 200, 400, 0},
			quick: []float64{100, 400, 0},
		},
		columns: scale{
			name: "size", unit: "B", from: 1, to: 4 << 20, // the longest record of lab sink
			all:   []float64{1 << 10, 16 << 10, 256 << 10},
			quick: []float64{1 << 10, 16 << 10},
		},
		// The throughput is the rate where the target takes it.
		figures: []Figure{throughput, median, p99, jitter, iops, targetCPU}, noiseOf: Median,
		cell: 2 * time.Second, quickCell: 900 * time.Millisecond,
		shape: func(p *load.Plan, row, column float64) {
			p.Protocol, p.Conns, p.Depth = load.Ack, 16, 4
			p.Rate, p.Sizes = row, load.OneSize(int(column))
		},
	},
}

func echo(engine string) []string { return []string{"echo", "127.0.0.1:0", "--engine", engine} }

func sink(durability string) []string {
	args := []string{"sink", "127.0.0.1:0", "--durability", durability}
	if durability == "raft" {
		args = append(args, "--trio")
	}
	return args
}

// Names are those of the grids.
func Names() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

func lookup(name string) (*kind, error) {
	if i := slices.Index(Names(), name); i >= 0 {
		return kinds[i], nil
	}
	return nil, fmt.Errorf("there is no grid %q, there are %s", name, strings.Join(Names(), ", "))
}

func (k *kind) check(layer string) error {
	if slices.Contains(k.layers, layer) {
		return nil
	}
	if jitter, err := time.ParseDuration(layer); err == nil && k.network {
		if most := time.Duration(k.columns.to); jitter < 0 || jitter > most {
			return fmt.Errorf("a jitter of %s is not within 0s and %v", layer, most)
		}
		return nil
	}
	return fmt.Errorf("there is no %q in %s, there are %s", layer, k.name, strings.Join(k.layers, ", "))
}

// A Choice is what is measured of a grid. Zero values are the grid's own.
type Choice struct {
	Layers        []string
	Rows, Columns string // values, separated by commas
	Quick         bool   // a coarse grid in short runs, within a minute
	Rounds        int
	Cell          time.Duration // of a run, with its warm-up
	Seed          uint64
	// Target is a load on a server that runs already: its address, protocol and requests. With
	// nil, targets are started.
	Target *load.Plan
}

const (
	rounds      = 3
	quickRounds = 2
)

// New returns a grid that is chosen and has no runs yet.
func New(name string, c Choice) (*File, error) {
	k, err := lookup(name)
	if err != nil {
		return nil, err
	}
	f := &File{
		Origin: machine.Origin{Kind: Kind, Schema: Schema, Machine: machine.This(), Started: time.Now()}, Name: k.name, Title: k.title, Seed: c.Seed,
		Repeats: rounds, CellTime: k.cell, Layers: slices.Clone(k.layers), Figures: slices.Clone(k.figures), NoiseOf: k.noiseOf, Target: c.Target,
	}
	if c.Quick {
		f.Repeats, f.CellTime = quickRounds, k.quickCell
	}
	f.Repeats = cmp.Or(c.Rounds, f.Repeats)
	f.CellTime = cmp.Or(c.Cell, f.CellTime)
	if c.Layers != nil {
		f.Layers = slices.Clone(c.Layers)
	}
	if c.Target != nil && k.fixed {
		return nil, fmt.Errorf("%s starts its targets itself: it takes no other", k.name)
	}
	if c.Target != nil && k.network {
		if _, err := before(c.Target); err != nil {
			return nil, err
		}
	}
	if c.Target != nil {
		if !k.network && c.Layers != nil {
			return nil, fmt.Errorf("the layers of %s are the engines that it starts: a target has none", k.name)
		}
		if f.Title += ", on " + c.Target.Public().Target; !k.network {
			f.Layers = []string{"target"}
		}
	}
	for i, layer := range f.Layers {
		if err := k.check(layer); err != nil && (c.Target == nil || k.network) {
			return nil, err
		}
		if slices.Contains(f.Layers[:i], layer) {
			return nil, fmt.Errorf("%q is there twice", layer)
		}
	}
	var errRows, errColumns error
	f.Rows, errRows = k.rows.axis(c.Rows, c.Quick)
	f.Columns, errColumns = k.columns.axis(c.Columns, c.Quick)
	if err := errors.Join(errRows, errColumns); err != nil {
		return nil, err
	}
	if c.Target != nil && !k.network && !c.Target.HasSizes() {
		if c.Rows != "" {
			return nil, fmt.Errorf("requests to %s have no size to choose", c.Target.Public().Target)
		}
		f.Rows = Axis{Name: "request", Unit: "request", Values: []float64{1}, Labels: []string{"as it is"}}
	}
	for layer := range f.Layers {
		for row := range f.Rows.Values {
			for column := range f.Columns.Values {
				f.Cells = append(f.Cells, Cell{Layer: layer, Row: row, Column: column, Runs: []Run{}})
			}
		}
	}
	return f, nil
}

// slowest is how fast, in bytes a second, what is under way passes at least: a
// cell is measured for so long that all of it could pass. It is a fraction of what
// loopback does, since a gigabyte under way is more than the kernel likes.
const slowest = 128 << 20

const longestCell = time.Hour

// plan is the load of a cell, without its target's address and its seed. A quarter of its time is the
// warm-up.
func (f *File) plan(k *kind, c *Cell) load.Plan {
	p := load.Default()
	if f.Target != nil {
		p = *f.Target
	}
	k.shape(&p, f.Rows.Values[c.Row], f.Columns.Values[c.Column])
	underWay := float64(p.Conns) * float64(p.Depth) * float64(p.Sizes.Max)
	span := max(f.CellTime, min(longestCell, time.Duration(underWay/slowest*float64(time.Second))))
	p.Warmup = span / 4
	p.Duration = span - p.Warmup
	return p
}

func (f *File) label(c *Cell) string {
	return fmt.Sprintf("%s, %s %s, %s %s", f.Layers[c.Layer], f.Rows.Name, f.Rows.Labels[c.Row], f.Columns.Name, f.Columns.Labels[c.Column])
}

// overhead is about what a run takes beside the cell's time: connections are made.
const overhead = 100 * time.Millisecond

// Missing is how many runs are missing.
func (f *File) Missing() (n int) {
	for i := range f.Cells {
		n += f.Repeats - len(f.Cells[i].Runs)
	}
	return n
}

// Estimate is about how long it takes to measure what is missing.
func (f *File) Estimate() (sum time.Duration) {
	k, err := lookup(f.Name)
	if err != nil {
		return 0
	}
	for i := range f.Cells {
		p := f.plan(k, &f.Cells[i])
		sum += time.Duration(f.Repeats-len(f.Cells[i].Runs)) * (p.Warmup + p.Duration + overhead)
	}
	return sum
}

type scale struct {
	name, unit string    // of unit "B" and "ns", values are written as sizes and times
	all, quick []float64 // by default and with a coarse grid, ascending; 0 of a rate is last
	from, to   float64   // what may be asked for
	zero       string    // what 0 is called; empty where there is none
}

const maxValues = 32

func (s *scale) axis(choice string, quick bool) (Axis, error) {
	values := slices.Clone(s.all)
	if quick {
		values = slices.Clone(s.quick)
	}
	if choice != "" {
		values = nil
		for text := range strings.SplitSeq(choice, ",") {
			v, err := s.parse(strings.TrimSpace(text))
			if err != nil {
				return Axis{}, err
			}
			values = append(values, v)
		}
		slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(s.rank(a), s.rank(b)) })
	}
	if values = slices.Compact(values); len(values) > maxValues {
		return Axis{}, fmt.Errorf("%d values of %s, at most %d", len(values), s.name, maxValues)
	}
	a := Axis{Name: s.name, Unit: s.unit, Values: values}
	for _, v := range values {
		a.Labels = append(a.Labels, s.label(v))
	}
	return a, nil
}

func (s *scale) rank(v float64) float64 {
	if v == 0 && s.zero == "max" {
		return math.Inf(1)
	}
	return v
}

func (s *scale) parse(text string) (float64, error) {
	if s.zero != "" && (text == s.zero || text == "0") {
		return 0, nil
	}
	var v float64
	var err error
	switch s.unit {
	case "B":
		var n int64
		n, err = units.ParseBytes(text)
		v = float64(n)
	case "ns":
		var d time.Duration
		d, err = time.ParseDuration(strings.ReplaceAll(text, " ", ""))
		v = float64(d)
	default:
		v, err = strconv.ParseFloat(text, 64)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: %q is not one, such as %s", s.name, text, s.label(s.all[1]))
	case !(v >= s.from && v <= s.to):
		return 0, fmt.Errorf("%s: %s is not within %s and %s", s.name, text, s.label(s.from), s.label(s.to))
	case s.unit != "requests/s" && v != math.Trunc(v):
		return 0, fmt.Errorf("%s: %s is not a whole number", s.name, text)
	}
	return v, nil
}

func (s *scale) label(v float64) string {
	switch {
	case v == 0 && s.zero != "":
		return s.zero
	case s.unit == "B":
		return units.Exact(int64(v))
	case s.unit == "ns":
		return time.Duration(v).String()
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
