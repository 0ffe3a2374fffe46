package scenarios

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

// echoWork is a work on connections that stay open from round to round.
type echoWork struct {
	size   int  // of a message, in bytes
	conns  int  // connections
	procs  int  // GOMAXPROCS of the server
	rate   int  // messages a second in an open loop; 0: a closed one
	onEach bool // an operation is a message on each connection
}

// open starts a server and a client and opens the connections.
func (w echoWork) open(env lab.Env, server string) (lab.Runner, error) {
	p, err := newEchoPair(env, server, w.size, w.procs)
	if err != nil {
		return nil, err
	}
	if _, err := p.do("connect", w.conns); err != nil {
		return nil, p.closed(err)
	}
	return &echoRunner{p, w}, nil
}

type echoRunner struct {
	pair *echoPair
	work echoWork
}

func (r *echoRunner) Run(ops int) (lab.Sample, error) {
	messages := ops
	if r.work.onEach {
		messages *= r.work.conns
	}
	// What ran before on these processors has left the caches to itself.
	if _, err := r.send(messages/8 + 1); err != nil {
		return lab.Sample{}, err
	}
	result, spent, err := r.pair.during(func() (echobench.Result, error) { return r.send(messages) })
	if err != nil {
		return lab.Sample{}, err
	}
	if result.Check != echobench.Sum(messages) {
		return lab.Sample{}, fmt.Errorf("scenarios: the client checked other messages than the %d that it was to send", messages)
	}
	sample := lab.Sample{Bytes: result.Bytes, Check: result.Check, Figures: echoFigures(result, spent, ops)}
	if r.work.onEach {
		// What all variants have in common is what one connection did.
		sample.Bytes, sample.Check = int64(ops)*int64(r.work.size), echobench.Sum(ops)
		sample.Figures[perRequest] = sample.Figures[lab.CPUPerOp] / float64(r.work.conns)
	}
	if r.work.rate > 0 {
		sample.Figures[p50] = float64(result.P50.Nanoseconds())
		sample.Figures[p99] = float64(result.P99.Nanoseconds())
		sample.Figures[sentLate] = float64(result.Late.Nanoseconds())
	}
	return sample, nil
}

func (r *echoRunner) send(messages int) (echobench.Result, error) {
	if r.work.rate > 0 {
		return r.pair.do("paced", messages, int(time.Second)/r.work.rate)
	}
	return r.pair.do("closed", messages)
}

func (r *echoRunner) Close() error {
	r.pair.close()
	return nil
}

// echoWaveRounds is how many messages follow the first on each connection.
const echoWaveRounds = 10

// echoWaveRunner opens its connections in each operation.
type echoWaveRunner struct {
	pair  *echoPair
	conns int
}

func newEchoWave(env lab.Env, server string, conns int) (lab.Runner, error) {
	p, err := newEchoPair(env, server, 1<<10, 1)
	if err != nil {
		return nil, err
	}
	r := &echoWaveRunner{p, conns}
	// The first wave finds a server that has no memory yet.
	if _, err := r.Run(1); err != nil {
		return nil, p.closed(err)
	}
	return r, nil
}

func (r *echoWaveRunner) Run(ops int) (lab.Sample, error) {
	var total echobench.Result
	var spent echobench.Spent
	for range ops {
		result, s, err := r.pair.during(func() (echobench.Result, error) {
			first, err := r.pair.do("connect", r.conns)
			if err != nil {
				return first, err
			}
			rest, err := r.pair.do("closed", echoWaveRounds*r.conns)
			return first.And(rest), err
		})
		if err != nil {
			return lab.Sample{}, err
		}
		if err := r.pair.hangUp(); err != nil {
			return lab.Sample{}, err
		}
		total, spent = total.And(result), spent.And(s)
	}
	figures := echoFigures(total, spent, ops)
	figures[perRequest] = float64(spent.CPU.Nanoseconds()) / float64(total.Messages)
	return lab.Sample{Bytes: total.Bytes, Check: total.Check, Figures: figures}, nil
}

func (r *echoWaveRunner) Close() error {
	r.pair.close()
	return nil
}

// echoIdleWarm is how many connections come and go before memory is looked at,
// so that what a server has once is not divided among the others.
const echoIdleWarm = 512

// echoIdleRunner starts a server for each operation: what a process has in
// memory depends on its history.
type echoIdleRunner struct {
	env    lab.Env
	server string
	conns  int
}

func newEchoIdle(env lab.Env, server string, conns int) (lab.Runner, error) {
	p, err := newEchoPair(env, server, 128, 1)
	if err != nil {
		return nil, err
	}
	p.close()
	return &echoIdleRunner{env, server, conns}, nil
}

func (r *echoIdleRunner) Run(ops int) (lab.Sample, error) {
	var each float64
	var bytes int64
	var check uint64
	for range ops {
		result, grown, err := r.census()
		if err != nil {
			return lab.Sample{}, err
		}
		each += float64(grown) / float64(r.conns) / float64(ops)
		bytes += result.Bytes
		check += result.Check
	}
	return lab.Sample{Bytes: bytes, Check: check, Figures: map[string]float64{
		residentBy: each, connCount: float64(r.conns),
		// Those of this process would be taken for the server's.
		lab.AllocsPerOp: math.NaN(), lab.BytesPerOp: math.NaN(), lab.GCRuns: math.NaN(),
	}}, nil
}

func (r *echoIdleRunner) Close() error { return nil }

// census connects and returns by how many resident bytes the server grew.
func (r *echoIdleRunner) census() (result echobench.Result, grown int64, err error) {
	p, err := newEchoPair(r.env, r.server, 128, 1)
	if err != nil {
		return result, 0, err
	}
	defer p.close()
	if _, err := p.do("connect", echoIdleWarm); err != nil {
		return result, 0, err
	}
	if err := p.hangUp(); err != nil {
		return result, 0, err
	}
	before, err := p.resident()
	if err != nil {
		return result, 0, err
	}
	result, err = p.do("connect", r.conns)
	if err != nil {
		return result, 0, err
	}
	after, err := p.resident()
	return result, after - before, err
}
