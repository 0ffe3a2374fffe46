package scenarios

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

// manySize is the bytes of a frame for many.
const manySize = 16 << 10

func echoToMany() lab.Scenario {
	variant := func(name, about string) lab.Variant {
		return lab.Variant{Name: name, About: about, Open: func(env lab.Env) (lab.Runner, error) {
			conns := scaled(env, 1000, 1000, 200)
			m, err := echobench.NewMany(name, conns, manySize, env.Seed)
			if err != nil {
				return nil, err
			}
			return &manyRunner{m, conns}, nil
		}}
	}
	return lab.Scenario{
		Name:     "echo/16KiB-to-1000",
		Title:    "a frame of 16 KiB to 1,000 connections whose sockets are empty, the processor time of the writing",
		Op:       "frame to all",
		Metric:   lab.CPUPerOp,
		Baseline: "bare",
		Ops:      20,
		Fixed:    true,
		Variants: []lab.Variant{
			variant("aio", "aio's WriteMany of a counted Buf, with a policy for slow ones"),
			variant("bare", "one send for each connection, nothing else"),
		},
		Targets: []lab.Target{{Variant: "aio", Against: "bare", AtMost: 1.10}},
	}
}

type manyRunner struct {
	many  *echobench.Many
	conns int
}

func (r *manyRunner) Run(ops int) (lab.Sample, error) {
	var wall, cpu time.Duration
	for range ops {
		w, c, err := r.many.Write()
		if err != nil {
			return lab.Sample{}, err
		}
		wall += w
		cpu += c
	}
	n := float64(ops)
	return lab.Sample{
		Bytes: int64(ops) * int64(r.conns) * manySize,
		// Each frame was compared on each connection.
		Check: uint64(ops),
		Figures: map[string]float64{
			lab.CPUPerOp: float64(cpu.Nanoseconds()) / n,
			lab.NsPerOp:  float64(wall.Nanoseconds()) / n,
			// Those of this process have the reading in them.
			lab.AllocsPerOp: math.NaN(), lab.BytesPerOp: math.NaN(), lab.GCRuns: math.NaN(),
		},
	}, nil
}

func (r *manyRunner) Close() error {
	r.many.Close()
	return nil
}
