package srtconn

import (
	"errors"
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

	free  time.Time // when the line has sent all
	onWay []sending
	bytes int
	queue time.Duration // the most for which one waited for the line
}

type sending struct {
	acked time.Time
	bytes int
}

func (c *narrow) Write(b []byte) (int, error) {
	if now := time.Now(); c.free.Before(now) {
		c.free = now
	}
	c.free = c.free.Add(time.Duration(float64(len(b)) / c.rate * float64(time.Second)))
	c.onWay = append(c.onWay, sending{c.free.Add(c.delay), len(b)})
	c.bytes += len(b)
	c.queue = max(c.queue, time.Until(c.free))
	return len(b), nil
}

func (c *narrow) Stats(s *srt.Statistics) {
	for len(c.onWay) > 0 && !time.Now().Before(c.onWay[0].acked) {
		c.onWay = c.onWay[1:]
	}
	for _, p := range c.onWay {
		s.Instantaneous.ByteSendBuf += uint64(p.bytes)
	}
	s.Instantaneous.MsRTT = float64(max(c.delay, 100*time.Millisecond).Milliseconds())
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
