package scenarios

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// The figures of the idle scenario.
const (
	perConn   = "B/conn"
	aboveBare = "above-bare-B/conn" // more than goroutines in a bare RawConn.Read need
	connCount = "connections"
)

// idleMessage is what each connection brings before it is idle, in bytes.
const idleMessage = 16 << 10

var _ = register(200, idleGroup)

// idleGroup counts the memory of connections that have had one message and
// wait for the next.
func idleGroup() []lab.Scenario {
	sc := lab.Scenario{
		Name:     "idle",
		Title:    "heap and stack of a server's connections that have each had one message of 16 KiB and wait",
		Op:       "count",
		Metric:   perConn,
		Baseline: idleWays[0].name,
		Ops:      1,
		Fixed:    true,
		Targets:  []lab.Target{{Variant: "next", Metric: aboveBare, AtMost: 360}},
	}
	for _, w := range idleWays {
		sc.Variants = append(sc.Variants, lab.Variant{Name: w.name, About: w.about, Open: func(env lab.Env) (lab.Runner, error) {
			return newIdleRunner(env, w)
		}})
	}
	return []lab.Scenario{sc}
}

// idleRunner has a server of its own process count, and its clients in
// another.
type idleRunner struct {
	env     lab.Env
	way     idleWay
	count   int
	bare    float64
	figures map[string]float64
}

func newIdleRunner(env lab.Env, way idleWay) (lab.Runner, error) {
	r := &idleRunner{env: env, way: way, count: 500, figures: map[string]float64{}}
	if env.Full {
		r.count = 4000
	}
	limit, err := openFiles()
	if err != nil {
		return nil, err
	}
	// Some files are for other things than connections.
	r.count = min(r.count, limit-50)
	if r.count < 50 {
		return nil, fmt.Errorf("scenarios: only %d files may be open: %w", limit, errors.ErrUnsupported)
	}
	r.bare, err = r.census(idleWays[0])
	return r, err
}

func (r *idleRunner) Run(ops int) (lab.Sample, error) {
	for range ops {
		each, err := r.census(r.way)
		if err != nil {
			return lab.Sample{}, err
		}
		r.figures[perConn] = each
		r.figures[aboveBare] = each - r.bare
		r.figures[connCount] = float64(r.count)
	}
	bytes := int64(ops) * int64(r.count) * idleMessage
	return lab.Sample{Bytes: bytes, Check: uint64(bytes), Figures: r.figures}, nil
}

func (r *idleRunner) Close() error { return nil }

// census starts a server and its clients, and returns how many bytes a connection
// needs, as the server reports it.
func (r *idleRunner) census(way idleWay) (float64, error) {
	count := strconv.Itoa(r.count)
	server, err := startChild(r.env.Self, "idle-server", way.name, count)
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	addr, err := lineOf(server)
	if err != nil {
		return 0, err
	}
	clients, err := startChild(r.env.Self, "idle-clients", addr, count, strconv.Itoa(idleMessage))
	if err != nil {
		return 0, err
	}
	defer clients.Stop()
	line, err := lineOf(server)
	if err != nil {
		return 0, fmt.Errorf("%w; %w", err, clients.Why())
	}
	each, err := strconv.ParseFloat(line, 64)
	if err != nil {
		return 0, fmt.Errorf("scenarios: the idle server said %.40q", line)
	}
	return each, nil
}
