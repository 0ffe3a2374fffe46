package scenarios

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// readsPerMessage is how often the source was read for a message.
const readsPerMessage = "reads/message"

var _ = register(100, wrappedGroup)

// wrappedGroup counts the reads of a connection that is wrapped, as middleware
// and TLS wrap it. A read is a system call, or a record.
func wrappedGroup() []lab.Scenario {
	return []lab.Scenario{{
		Name:     "wrapped",
		Title:    "requests of 100 to 3,000 bytes, one at a time, over a TCP connection in a struct: reads of it for a message",
		Op:       "message",
		Metric:   readsPerMessage,
		Baseline: "peek",
		Ops:      1000,
		Targets: []lab.Target{
			{Variant: "next", Metric: readsPerMessage, AtMost: 1.05},
			{Variant: "readbuf", Metric: readsPerMessage, AtMost: 1.05},
		},
		Variants: variants(pick(allFrames, "peek", "next", "readbuf"), func(env lab.Env, w way) (lab.Runner, error) {
			return newRequests(w, frameKind{env.Seed, 100, 3000}.frames())
		}),
	}}
}

// A countedConn is a connection that is not a *net.TCPConn itself.
type countedConn struct {
	net.Conn
	reads int
}

func (c *countedConn) Read(p []byte) (int, error) {
	c.reads++
	return c.Conn.Read(p)
}

// newRequests asks for a unit of the stream, and reads it, before the next one.
func newRequests(w way, s *stream) (lab.Runner, error) {
	here, there, err := loopback()
	if err != nil {
		return nil, err
	}
	conn, gone := &countedConn{Conn: here}, make(chan error, 1)
	reader := newWalker(w, conn, place{s: s})
	reader.done = func() error { return errors.Join(conn.Close(), <-gone, there.Close()) }
	go func() { gone <- serveUnits(there, s) }()
	r := runner{func(ops int) (lab.Sample, error) {
		var sum uint64
		before := conn.reads
		// A reader that wants more than was sent would wait for ever.
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			return lab.Sample{}, err
		}
		for range ops {
			if _, err := conn.Write([]byte{0}); err != nil {
				return lab.Sample{}, err
			}
			m, err := reader.walk(1)
			if err != nil {
				return lab.Sample{}, fmt.Errorf("scenarios: reading a message: %w", err)
			}
			sum += m
		}
		out, err := reader.account(ops, sum)
		out.Figures = map[string]float64{readsPerMessage: float64(conn.reads-before) / float64(ops)}
		return out, err
	}, reader.Close}
	// Some readers ask for much when they begin.
	if _, err := r.Run(100); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// serveUnits sends a unit for each byte that it gets.
func serveUnits(conn net.Conn, s *stream) error {
	var ask [1]byte
	for i := 0; ; i = (i + 1) % s.units() {
		if _, err := io.ReadFull(conn, ask[:]); err != nil {
			return unlessHungUp(err)
		}
		if _, err := conn.Write(s.ring[s.ends[i]:s.ends[i+1]]); err != nil {
			return unlessHungUp(err)
		}
	}
}
