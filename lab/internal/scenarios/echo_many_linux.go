package scenarios

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/proc"
	"github.com/sluice-go/sluice/lab/internal/rawio"
	"github.com/sluice-go/sluice/mem"
)

const manySize = 16 << 10

func echoToMany() lab.Scenario {
	sc := echoScenario("16KiB-to-1000", "a frame of 16 KiB to 1,000 connections (200 with --quick) whose sockets are empty, the processor time of the writing",
		"frame to all", lab.CPUPerOp, "bare", 20, nil, nil, lab.Target{Variant: "aio", Against: "bare", AtMost: 1.10})
	sc.Variants = []lab.Variant{
		{Name: "aio", About: "aio's WriteMany of a counted Buf, with a policy for slow ones", Open: func(env lab.Env) (lab.Runner, error) {
			w, err := aio.NewWatcherOptions(aio.Options{})
			if err != nil {
				return nil, err
			}
			return newMany(env, w.Close, func(conns []net.Conn, frame []byte) error {
				b := mem.Default().Get(len(frame))
				copy(b.Bytes(), frame)
				written, err := w.WriteMany(nil, conns, b, aio.SlowSkip)
				if err == nil && written.Written != len(conns) {
					err = fmt.Errorf("scenarios: the sockets do not take a frame each: %+v", written)
				}
				return err
			})
		}},
		{Name: "bare", About: "one send for each connection, nothing else", Open: func(env lab.Env) (lab.Runner, error) {
			var fds []int
			return newMany(env, func() error { return nil }, func(conns []net.Conn, frame []byte) error {
				if fds == nil {
					for _, c := range conns {
						fd, err := rawio.Descriptor(c)
						if err != nil {
							return err
						}
						fds = append(fds, fd)
					}
				}
				for _, fd := range fds {
					if n, errno := rawio.Send(fd, frame); errno != 0 || n != len(frame) {
						return fmt.Errorf("scenarios: a socket takes %d bytes of a frame: %w", n, errno)
					}
				}
				return nil
			})
		}},
	}
	return sc
}

// newMany writes one frame to many connections, which is timed, and then reads it from
// each of them.
func newMany(env lab.Env, end func() error, write func(conns []net.Conn, frame []byte) error) (lab.Runner, error) {
	var near, far []net.Conn
	r := runner{close: func() error {
		err := end()
		for _, c := range append(near, far...) {
			c.Close() // a watcher has closed its own
		}
		return err
	}}
	l, err := echobench.Listen(manySize)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	defer l.Close()
	for range scaled(env, 1000, 1000, 200) {
		here, there, err := connected(l)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		near, far = append(near, here), append(far, there)
	}
	frame, got := make([]byte, manySize), make([]byte, manySize)
	rnd := rand.New(rand.NewPCG(env.Seed, manySize))
	for i := range frame {
		frame[i] = byte(rnd.Uint32())
	}
	number := uint64(0)
	r.run = func(ops int) (lab.Sample, error) {
		var wall, cpu time.Duration
		for range ops {
			number++
			binary.LittleEndian.PutUint64(frame, number)
			before, _ := proc.CPU(0) // of this process it does not fail
			began := time.Now()
			if err := write(near, frame); err != nil {
				return lab.Sample{}, err
			}
			wall += time.Since(began)
			after, _ := proc.CPU(0)
			cpu += after - before
			for i, c := range far {
				if err := c.SetReadDeadline(time.Now().Add(child.Within)); err != nil {
					return lab.Sample{}, err
				}
				if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, frame) {
					return lab.Sample{}, fmt.Errorf("scenarios: connection %d has not got frame %d: %w", i, number, errors.Join(err, errDiffers))
				}
			}
		}
		n := float64(ops)
		return lab.Sample{Bytes: int64(ops) * int64(len(far)) * manySize, Check: uint64(ops), Figures: map[string]float64{
			lab.CPUPerOp: float64(cpu.Nanoseconds()) / n,
			lab.NsPerOp:  float64(wall.Nanoseconds()) / n,
			// Those of this process have the reading in them.
			lab.AllocsPerOp: math.NaN(), lab.BytesPerOp: math.NaN(), lab.GCRuns: math.NaN(),
		}}, nil
	}
	return r, nil
}
