package scenarios

import (
	"bufio"
	"errors"
	"net"
	"runtime"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

// allocsPerCall is how many allocations a call makes, without what is left of
// a whole one: the runtime allocates now and then for itself.
const allocsPerCall = "allocs/call"

var _ = register(190, allocsGroup)

// allocsGroup counts what making a reader, and using it again, allocates.
func allocsGroup() []lab.Scenario {
	reset := lab.Scenario{
		Name:     "allocs/reset",
		Title:    "allocations of Reset to a TCP connection",
		Op:       "call",
		Metric:   allocsPerCall,
		Baseline: "bufio",
		Ops:      10_000,
		Fixed:    true,
		Targets:  []lab.Target{{Variant: "reset", Metric: allocsPerCall, AtMost: 0}},
		Variants: []lab.Variant{
			{Name: "bufio", About: "bufio.Reader of 4 KiB: Reset", Open: onConn(func(conn net.Conn) (func(), func()) {
				r := bufio.NewReader(conn)
				return func() { r.Reset(conn) }, func() {}
			})},
			{Name: "reset", About: "our BufReader: Reset", Open: onConn(func(conn net.Conn) (func(), func()) {
				r := sluice.NewBufReader(conn)
				return func() { r.Reset(conn) }, r.Recycle
			})},
		},
	}
	made := lab.Scenario{
		Name:     "allocs/new",
		Title:    "allocations of a new reader of a TCP connection",
		Op:       "call",
		Metric:   allocsPerCall,
		Baseline: "bufio",
		Ops:      10_000,
		Fixed:    true,
		Targets:  []lab.Target{{Variant: "new", Metric: allocsPerCall, AtMost: 2}},
		Variants: []lab.Variant{
			{Name: "bufio", About: "bufio.NewReader, of 4 KiB", Open: onConn(func(conn net.Conn) (func(), func()) {
				return func() { keptBufio = bufio.NewReader(conn) }, func() {
					runtime.KeepAlive(keptBufio)
					keptBufio = nil
				}
			})},
			{Name: "new", About: "our NewBufReader, and Recycle", Open: onConn(func(conn net.Conn) (func(), func()) {
				return func() {
					keptOurs = sluice.NewBufReader(conn)
					keptOurs.Recycle()
				}, func() { keptOurs = nil }
			})},
		},
	}
	return []lab.Scenario{reset, made}
}

// What is made is kept, so that it does not end up on the stack.
var (
	keptBufio *bufio.Reader
	keptOurs  *sluice.BufReader
)

// onConn opens a variant that makes calls with a TCP connection on which
// nothing comes.
func onConn(open func(net.Conn) (call, end func())) func(lab.Env) (lab.Runner, error) {
	return func(lab.Env) (lab.Runner, error) {
		here, there, err := loopback()
		if err != nil {
			return nil, err
		}
		c := &calls{conns: []net.Conn{here, there}}
		c.call, c.end = open(here)
		return c, nil
	}
}

// calls counts the allocations of a call.
type calls struct {
	conns     []net.Conn
	call, end func()
	memory    runtime.MemStats
}

func (c *calls) Run(ops int) (lab.Sample, error) {
	c.call()
	runtime.ReadMemStats(&c.memory)
	before := c.memory.Mallocs
	for range ops {
		c.call()
	}
	runtime.ReadMemStats(&c.memory)
	figures := map[string]float64{allocsPerCall: float64((c.memory.Mallocs - before) / uint64(ops))}
	return lab.Sample{Check: uint64(ops), Figures: figures}, nil
}

func (c *calls) Close() error {
	c.end()
	var errs []error
	for _, conn := range c.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}
