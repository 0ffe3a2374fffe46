package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

type echoWork struct {
	size  int // of a message, in bytes
	conns int // connections
	rate  int // messages a second in an open loop; 0: a closed one
	// latency is for a closed loop with the latencies among its figures.
	latency bool
}

func (w echoWork) open(env lab.Env, server string) (lab.Runner, error) {
	p, err := newEchoPair(env, server, w.size)
	if err != nil {
		return nil, err
	}
	if _, err := p.do("connect", w.conns); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return runner{func(ops int) (lab.Sample, error) { return w.run(p, ops) }, p.close}, nil
}

func (w echoWork) run(p *echoPair, ops int) (lab.Sample, error) {
	send := func(messages int) (echobench.Result, error) {
		if w.rate > 0 {
			return p.do("paced", messages, int(time.Second)/w.rate)
		}
		return p.do("closed", messages)
	}
	// What ran before on these processors has left the caches to itself.
	if _, err := send(ops/8 + 1); err != nil {
		return lab.Sample{}, err
	}
	result, spent, err := p.during(func() (echobench.Result, error) { return send(ops) })
	if err != nil {
		return lab.Sample{}, err
	}
	if result.Check != echobench.Sum(ops) {
		return lab.Sample{}, fmt.Errorf("scenarios: the client checked other messages than the %d that it was to send", ops)
	}
	sample := lab.Sample{Bytes: result.Bytes, Check: result.Check, Figures: echoFigures(result, spent, ops)}
	if w.rate > 0 || w.latency {
		sample.Figures[p50] = float64(result.P50.Nanoseconds())
		sample.Figures[p99] = float64(result.P99.Nanoseconds())
	}
	if w.rate > 0 {
		sample.Figures[sentLate] = float64(result.Late.Nanoseconds())
	}
	return sample, nil
}

const echoWaveRounds = 10

func newEchoWave(env lab.Env, server string, conns int) (lab.Runner, error) {
	p, err := newEchoPair(env, server, 1<<10)
	if err != nil {
		return nil, err
	}
	r := runner{func(ops int) (lab.Sample, error) {
		var total echobench.Result
		var spent proc.Work
		for range ops {
			result, s, err := p.during(func() (echobench.Result, error) {
				first, err := p.do("connect", conns)
				if err != nil {
					return first, err
				}
				rest, err := p.do("closed", echoWaveRounds*conns)
				return first.And(rest), err
			})
			if err != nil {
				return lab.Sample{}, err
			}
			if err := p.hangUp(); err != nil {
				return lab.Sample{}, err
			}
			total, spent = total.And(result), spent.And(s)
		}
		figures := echoFigures(total, spent, ops)
		figures[perRequest] = float64(spent.CPU.Nanoseconds()) / float64(total.Messages)
		return lab.Sample{Bytes: total.Bytes, Check: total.Check, Figures: figures}, nil
	}, p.close}
	// The first wave finds a server that has no memory yet.
	if _, err := r.Run(1); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return r, nil
}

// aboveBare is how much more a connection needs than one with a goroutine that has a
// buffer only while bytes are there.
const (
	perConn   = "B/conn"
	aboveBare = "above-bare-B/conn"
	connCount = "connections"
)

type idleWork struct {
	question string // what the server is asked for: its bytes
	figure   string // those of a connection
	size     int    // of the message
	conns    int
	warm     int // connections that come and go before, so that what a server has once is not divided among the others
}

// newIdle starts a server for each operation: what a process has in memory depends on
// its history.
func newIdle(env lab.Env, server string, w idleWork) (lab.Runner, error) {
	s, err := echobench.Lookup(server)
	if err == nil {
		_, err = echobench.Processors()
	}
	if err = errors.Join(err, s.Supported()); err != nil {
		return nil, err
	}
	return runner{run: func(ops int) (lab.Sample, error) {
		// Allocations of this process would be taken for the server's.
		out := lab.Sample{Figures: map[string]float64{
			connCount: float64(w.conns), lab.AllocsPerOp: math.NaN(), lab.BytesPerOp: math.NaN(), lab.GCRuns: math.NaN(),
		}}
		for range ops {
			result, grown, err := w.count(env, server)
			if err != nil {
				return lab.Sample{}, err
			}
			out.Figures[w.figure] += float64(grown) / float64(w.conns) / float64(ops)
			out.Bytes += result.Bytes
			out.Check += result.Check
		}
		return out, nil
	}}, nil
}

func (w idleWork) count(env lab.Env, server string) (result echobench.Result, grown int64, err error) {
	p, err := newEchoPair(env, server, w.size)
	if err != nil {
		return result, 0, err
	}
	defer p.close()
	if _, err := p.do("connect", w.warm); err != nil {
		return result, 0, err
	}
	if err := p.hangUp(); err != nil {
		return result, 0, err
	}
	before, err := askFor[int64](p.server, w.question)
	if err != nil {
		return result, 0, err
	}
	if result, err = p.do("connect", w.conns); err != nil {
		return result, 0, err
	}
	after, err := askFor[int64](p.server, w.question)
	return result, after - before, err
}

// echoScenario makes a scenario of the named servers. Each round does exactly ops
// operations.
func echoScenario(name, title, op, metric, baseline string, ops int, open func(lab.Env, string) (lab.Runner, error), servers []string, targets ...lab.Target) lab.Scenario {
	sc := lab.Scenario{
		Name: "echo/" + name, Title: title, Op: op, Metric: metric, Baseline: baseline, Ops: ops, Fixed: true, Targets: targets,
	}
	for _, name := range servers {
		s, err := echobench.Lookup(name)
		if err != nil {
			panic("scenarios: " + err.Error())
		}
		sc.Variants = append(sc.Variants, lab.Variant{Name: s.Name, About: s.About, Open: func(env lab.Env) (lab.Runner, error) {
			return open(env, s.Name)
		}})
	}
	return sc
}

func scaled(env lab.Env, full, normal, quick int) int {
	switch {
	case env.Full:
		return full
	case env.Quick:
		return quick
	}
	return normal
}

// The figures of the echo scenarios, besides those that all have. Times of the
// processor, allocations and collections are the server's there.
const (
	perSecond  = "req/s"          // messages that came back whole, by the client's clock
	perRequest = "cpu-ns/request" // where an operation is many requests
	senderTime = "sender-ns/op"   // the client's time when it did not wait: near all of it, the client was the limit
	p50        = "p50-ns"         // from when a message was due to when its echo was complete
	p99        = "p99-ns"
	sentLate   = "sent-late-ns" // how much after it was due one message in a hundred was sent, or more
	residentBy = "rss-B/conn"
)

// echoPair is a server and its client, each a process of its own on a processor
// of its own.
type echoPair struct {
	server, client *child.Process
}

func newEchoPair(env lab.Env, name string, size int) (*echoPair, error) {
	s, err := echobench.Lookup(name)
	if err != nil {
		return nil, err
	}
	cpus, err := echobench.Processors()
	if err = errors.Join(err, s.Supported()); err != nil {
		return nil, err
	}
	p := &echoPair{}
	var addr string
	if p.server, err = echobench.OnProcessor(cpus[0], func() (*child.Process, error) { return echoServer.start(env.Self, echoServerWork{name, size}) }); err == nil {
		addr, err = lineOf(p.server)
	}
	if err == nil {
		p.client, err = echobench.OnProcessor(cpus[1], func() (*child.Process, error) {
			return echoClient.start(env.Self, echoClientWork{addr, size, env.Seed, s.TLS})
		})
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *echoPair) close() error {
	for _, c := range []*child.Process{p.client, p.server} {
		if c != nil {
			c.Stop()
		}
	}
	return nil
}

func askFor[T any](c *child.Process, question string) (v T, err error) {
	if err := c.Tell(question); err != nil {
		return v, fmt.Errorf("scenarios: %w", err)
	}
	line, err := lineOf(c)
	if err != nil {
		return v, fmt.Errorf("%w, asked to %s", err, question)
	}
	if err = json.Unmarshal([]byte(line), &v); err != nil {
		err = fmt.Errorf("scenarios: a child answered %.60q: %w", line, err)
	}
	return v, err
}

func (p *echoPair) do(what string, numbers ...int) (echobench.Result, error) {
	for _, n := range numbers {
		what += " " + strconv.Itoa(n)
	}
	return askFor[echobench.Result](p.client, what)
}

func (p *echoPair) hangUp() error {
	if _, err := p.do("hangup"); err != nil {
		return err
	}
	_, err := askFor[bool](p.server, "drain")
	return err
}

func (p *echoPair) during(work func() (echobench.Result, error)) (echobench.Result, proc.Work, error) {
	before, err := askFor[proc.Usage](p.server, "usage")
	if err != nil {
		return echobench.Result{}, proc.Work{}, err
	}
	r, err := work()
	if err != nil {
		return r, proc.Work{}, err
	}
	after, err := askFor[proc.Usage](p.server, "usage")
	return r, before.To(after), err
}

func echoFigures(r echobench.Result, s proc.Work, ops int) map[string]float64 {
	f := measure.Figures(ops, r.Wall, s)
	f[perSecond] = float64(r.Messages) / r.Wall.Seconds()
	f[senderTime] = float64((r.Wall - r.Waited).Nanoseconds()) / float64(ops)
	return f
}

type echoServerWork struct {
	Server string
	Size   int
}

var echoServer = registerChild("echo-server", func(w echoServerWork) error {
	s, err := echobench.Lookup(w.Server)
	if err != nil {
		return err
	}
	return echobench.HostServer(s, w.Size, os.Stdin, os.Stdout)
})

type echoClientWork struct {
	Addr string
	Size int
	Seed uint64
	TLS  bool
}

var echoClient = registerChild("echo-client", func(w echoClientWork) error {
	return echobench.HostClient(w.Addr, w.Size, w.Seed, w.TLS, os.Stdin, os.Stdout)
})
