package echobench

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// Paced sends ops messages, one every interval, on one connection after the
// other, whether or not earlier ones have been answered (an open loop). The
// client spins between them, so that a message is sent when it is due and an
// answer seen when it is there.
func (c *Client) Paced(ops int, interval time.Duration) (Result, error) {
	across := len(c.peers)
	if across == 0 {
		return Result{}, errors.New("echo: a client without connections")
	}
	if interval <= 0 {
		return Result{}, fmt.Errorf("echo: a message every %v", interval)
	}
	latencies := make([]time.Duration, 0, ops)
	lateness := make([]time.Duration, 0, ops)
	var began time.Time
	due := func(number int) time.Duration { return time.Duration(number) * interval }
	answered := func(_ *peer, number int) error {
		latencies = append(latencies, time.Since(began)-due(number))
		return nil
	}
	r, err := c.measured(work{across: across, total: ops, answered: answered}, func(*work) error {
		for i := range min(across, ops) {
			c.peers[i].number, c.peers[i].got = i, 0
		}
		began = time.Now()
		for next := 0; next < ops; {
			for range burst {
				now := time.Since(began)
				if next == ops || now < due(next) {
					break
				}
				if err := c.push(&c.peers[next%across], next); err != nil {
					return err
				}
				lateness = append(lateness, now-due(next))
				next++
			}
			n, err := c.poll(0)
			if err == nil {
				err = c.handle(n)
			}
			if err != nil {
				return err
			}
		}
		return c.finish()
	})
	if err != nil {
		return Result{}, err
	}
	r.P50, r.P99 = Quantile(latencies, 0.5), Quantile(latencies, 0.99)
	r.Late = Quantile(lateness, 0.99)
	return r, nil
}

// push sends the message of that number behind what the peer waits for already.
func (c *Client) push(p *peer, number int) error {
	c.out.stamp(number)
	n, errno := rawio.Send(p.fd, c.out)
	if errno != 0 {
		return fmt.Errorf("echo: sending message %d: %w", number, errno)
	}
	if n < len(c.out) {
		return fmt.Errorf("echo: the server is so far behind that the socket takes only %d bytes of message %d", n, number)
	}
	return nil
}
