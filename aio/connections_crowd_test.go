package aio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A crowd are the clients of runCrowd: so many connections, and few goroutines.
type crowd struct {
	addr  string
	conns []net.Conn
}

// crowdTimes is how long it took to connect and have the first echo, and the
// rounds after that.
type crowdTimes struct{ greeted, rounds time.Duration }

// crowdHands is how many goroutines speak for a crowd. Each sends to all its
// connections before it looks for an answer.
const crowdHands = 32

// joinCrowd is a crowd in this process.
func joinCrowd(addr string, n int) (times crowdTimes, err error) {
	c := &crowd{addr, make([]net.Conn, n)}
	defer c.leave()
	start := time.Now()
	if err = c.all(c.dial); err == nil {
		err = c.all(c.round(0))
	}
	times.greeted = time.Since(start)
	start = time.Now()
	for r := 1; r < crowdRounds && err == nil; r++ {
		err = c.all(c.round(r))
	}
	times.rounds = time.Since(start)
	return times, err
}

// all has every hand do f for its connections, which are from up to to.
func (c *crowd) all(f func(from, to int) error) error {
	var hands sync.WaitGroup
	errs := make([]error, crowdHands)
	for i := range crowdHands {
		hands.Go(func() { errs[i] = f(i*len(c.conns)/crowdHands, (i+1)*len(c.conns)/crowdHands) })
	}
	hands.Wait()
	return errors.Join(errs...)
}

func (c *crowd) dial(from, to int) (err error) {
	for i := from; i < to; i++ {
		if c.conns[i], err = net.DialTimeout("tcp", c.addr, crowdTime); err != nil {
			return err
		}
		if err = c.conns[i].SetDeadline(time.Now().Add(crowdTime)); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) round(r int) func(from, to int) error {
	return func(from, to int) error {
		p := make([]byte, crowdMessage)
		for i := from; i < to; i++ {
			upstream(i).fill(p, r*crowdMessage)
			if _, err := c.conns[i].Write(p); err != nil {
				return err
			}
		}
		for i := from; i < to; i++ {
			if _, err := io.ReadFull(c.conns[i], p); err != nil {
				return fmt.Errorf("connection %d, round %d: %w", i, r, err)
			}
			if j := upstream(i).differs(p, r*crowdMessage); j >= 0 {
				return fmt.Errorf("connection %d, round %d: byte %d is another", i, r, j)
			}
		}
		return nil
	}
}

// leave resets all connections: a close would leave each port waiting for a
// minute, and there are not so many ports.
func (c *crowd) leave() {
	for _, conn := range c.conns {
		if conn != nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	}
}

// crowdVariable tells a child process of the test to be a crowd.
const crowdVariable = "SLUICE_TEST_CROWD"

// sendCrowd is a crowd in a process of its own.
func sendCrowd(addr string, n int) (times crowdTimes, err error) {
	self, err := os.Executable()
	if err != nil {
		return times, err
	}
	ctx, stop := context.WithTimeout(context.Background(), crowdTime)
	defer stop()
	child := exec.CommandContext(ctx, self, "-test.run=^TestCrowdInAChild$", "-test.v")
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", crowdVariable, addr, n))
	output, err := child.CombinedOutput()
	if err != nil {
		return times, fmt.Errorf("%w: %s", err, output)
	}
	_, line, _ := strings.Cut(string(output), crowdVariable)
	if _, err = fmt.Sscan(line, &times.greeted, &times.rounds); err != nil {
		return times, fmt.Errorf("the child says %q: %w", output, err)
	}
	return times, nil
}

// TestCrowdInAChild is no test but what sendCrowd starts.
func TestCrowdInAChild(t *testing.T) {
	var addr string
	var n int
	if _, err := fmt.Sscan(os.Getenv(crowdVariable), &addr, &n); err != nil {
		t.Skip("only for a child process of the other tests")
	}
	descriptorLimit(t)
	times, err := joinCrowd(addr, n)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(crowdVariable, int64(times.greeted), int64(times.rounds))
}
