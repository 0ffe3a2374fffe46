package scenarios

import (
	"bufio"
	"errors"
	"net"
	"runtime"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

var _ = register(190, func() []lab.Scenario {
	return []lab.Scenario{
		allocs("reset", "Reset to a TCP connection", 0,
			onConn("bufio", "bufio.Reader of 4 KiB: Reset", func(conn net.Conn) (func(), func()) {
				r := bufio.NewReader(conn)
				return func() { r.Reset(conn) }, func() {}
			}),
			onConn("reset", "our BufReader: Reset", func(conn net.Conn) (func(), func()) {
				r := sluice.NewBufReader(conn)
				return func() { r.Reset(conn) }, r.Recycle
			})),
		allocs("new", "a new reader of a TCP connection", 2,
			onConn("bufio", "bufio.NewReader, of 4 KiB", func(conn net.Conn) (func(), func()) {
				return func() { keptBufio = bufio.NewReader(conn) }, func() {
					runtime.KeepAlive(keptBufio)
					keptBufio = nil
				}
			}),
			onConn("new", "our NewBufReader, and Recycle", func(conn net.Conn) (func(), func()) {
				return func() {
					keptOurs = sluice.NewBufReader(conn)
					keptOurs.Recycle()
				}, func() { keptOurs = nil }
			})),
	}
})

// allocs counts what a call allocates, of which the second variant has a bound.
func allocs(name, call string, most float64, variants ...lab.Variant) lab.Scenario {
	return lab.Scenario{
		Name: "allocs/" + name, Title: "allocations of " + call, Op: "call", Metric: lab.AllocsPerOp, Baseline: "bufio", Ops: 10_000, Fixed: true,
		Targets: []lab.Target{{Variant: variants[1].Name, Metric: lab.AllocsPerOp, AtMost: most}}, Variants: variants,
	}
}

// What is made is kept, so that it does not end up on the stack.
var (
	keptBufio *bufio.Reader
	keptOurs  *sluice.BufReader
)

// onConn makes a variant of calls with a TCP connection on which nothing comes.
func onConn(name, about string, open func(net.Conn) (call, end func())) lab.Variant {
	return lab.Variant{Name: name, About: about, Open: func(lab.Env) (lab.Runner, error) {
		here, there, err := loopback()
		if err != nil {
			return nil, err
		}
		call, end := open(here)
		call() // the first one brings the memory
		return runner{func(ops int) (lab.Sample, error) {
			for range ops {
				call()
			}
			return lab.Sample{Check: uint64(ops)}, nil
		}, func() error {
			end()
			return errors.Join(here.Close(), there.Close())
		}}, nil
	}}
}
