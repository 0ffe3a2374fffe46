package srtconn

import (
	"errors"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	srt "github.com/datarhei/gosrt"
)

// A narrow connection carries so many bytes a second, each after a delay.
type narrow struct {
	srt.Conn
	rate  float64
	delay time.Duration
	lost  func() bool // nil: none is; those that are come a delay later

	free  time.Time // when the line has sent all
	onWay []sending
	bytes int
	queue time.Duration // the most for which one waited for the line
	again uint64        // packets
}

type sending struct {
	acked time.Time
	bytes int
	again bool
}

func (c *narrow) Write(b []byte) (int, error) {
	if now := time.Now(); c.free.Before(now) {
		c.free = now
	}
	c.free = c.free.Add(time.Duration(float64(len(b)) / c.rate * float64(time.Second)))
	p := sending{acked: c.free.Add(c.delay), bytes: len(b), again: c.lost != nil && c.lost()}
	if p.again {
		p.acked = p.acked.Add(c.delay)
	}
	c.onWay = append(c.onWay, p)
	c.bytes += len(b)
	c.queue = max(c.queue, time.Until(c.free))
	return len(b), nil
}

func (c *narrow) Stats(s *srt.Statistics) {
	for len(c.onWay) > 0 && !time.Now().Before(c.onWay[0].acked) {
		if c.onWay[0].again {
			c.again++
		}
		c.onWay = c.onWay[1:]
	}
	s.Accumulated.PktRetrans = c.again
	for _, p := range c.onWay {
		s.Instantaneous.ByteSendBuf += uint64(p.bytes)
	}
	s.Instantaneous.MsRTT = 100 // as of a peer that cannot measure it
	s.Instantaneous.MsSendTsbPdDelay = 200
}

func (*narrow) Close() error { return nil }

// What is written goes out as fast as the line carries it, and does not wait for the line for
// long, however fast that is and far.
func TestWritesTakeTheTimeOfTheLine(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		delay time.Duration
		most  time.Duration // that the line is behind
	}{
		{60e3, 20 * time.Millisecond, 300 * time.Millisecond},
		{600e3, 20 * time.Millisecond, 300 * time.Millisecond},
		{6e6, 20 * time.Millisecond, 300 * time.Millisecond},
		{600e3, 200 * time.Millisecond, 500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := &narrow{rate: c.rate, delay: c.delay}
			p := NewPaced(conn)
			media := make([]byte, 10*payload)
			write := func(d time.Duration) {
				for end := time.Now().Add(d); time.Now().Before(end); {
					if _, err := p.Write(media); err != nil {
						t.Fatal(err)
					}
				}
			}
			write(3 * time.Second) // it finds the line out
			conn.queue, conn.bytes = 0, 0
			began := time.Now()
			write(5 * time.Second)
			if rate := float64(conn.bytes) / time.Since(began).Seconds(); rate < 0.9*c.rate {
				t.Errorf("%.0f bytes/s and %v: %.0f bytes/s", c.rate, c.delay, rate)
			}
			if conn.queue > c.most {
				t.Errorf("%.0f bytes/s and %v: the line is %v behind", c.rate, c.delay, conn.queue)
			}
			var s srt.Statistics
			if conn.Stats(&s); p.Unacked() != int(s.Instantaneous.ByteSendBuf) {
				t.Errorf("%d bytes are not acknowledged", p.Unacked())
			}
		})
	}
}

// A stream is not held up by a line that is wide enough, however far it goes and whatever it loses
// by chance.
func TestWideLinesHoldNothingUp(t *testing.T) {
	const rate, every, group = 90e3, 95 * time.Millisecond, 100e3
	for _, c := range []struct {
		delay time.Duration
		loss  float64
	}{{60 * time.Millisecond, 0}, {300 * time.Millisecond, 0}, {600 * time.Millisecond, 0}, {60 * time.Millisecond, 0.05}, {60 * time.Millisecond, 0.1}, {150 * time.Millisecond, 0.05}} {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			p := NewPaced(&narrow{rate: 6e6, delay: c.delay, lost: func() bool { return r.Float64() < c.loss }})
			if _, err := p.Write(make([]byte, group)); err != nil {
				t.Fatal(err)
			}
			began, late := time.Now(), 0 // pieces
			for i := range 600 {
				due := began.Add(time.Duration(i) * every)
				if wait := time.Until(due); wait > 0 {
					<-time.After(wait)
				}
				if _, err := p.Write(make([]byte, int(rate*every.Seconds())/packetLen*packetLen)); err != nil {
					t.Fatal(err)
				}
				if i > 40 && time.Since(due) > 500*time.Millisecond {
					late++
				}
			}
			if late > 0 {
				t.Errorf("%v, %v lost: %d of 560 pieces are more than 500 ms late", c.delay, c.loss, late)
			}
		})
	}
}

// A Write that waits for a line that carries nothing ends with a deadline that has passed.
func TestDeadlineEndsAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPaced(&narrow{rate: 1e-3})
		failed := make(chan error)
		go func() {
			_, err := p.Write(make([]byte, 2*firstWindow))
			failed <- err
		}()
		synctest.Wait()
		if err := p.SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		p.SetWriteDeadline(time.Unix(1, 0))
		if err := <-failed; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

// Packets are numbered one after another, by PID, also where some were left out.
func TestContinuity(t *testing.T) {
	packet := func(pid, flags, n byte) []byte {
		b := make([]byte, packetLen)
		b[0], b[2], b[3] = 0x47, pid, flags|n
		return b
	}
	c := continuity{}
	for i, p := range []struct{ pid, flags, n, want byte }{
		{1, 0x10, 14, 14}, {2, 0x30, 3, 3}, {1, 0x10, 15, 15}, {1, 0x20, 15, 15}, {1, 0x10, 4, 0}, {2, 0x10, 4, 4}, {1, 0xd0, 5, 1},
	} {
		b := packet(p.pid, p.flags, p.n)
		if c.number(b); b[3] != p.flags|p.want {
			t.Errorf("%d: %x", i, b[3])
		}
	}
}
