//go:build linux

package realtest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// farAway is how long bytes are on their way between nodes, each way.
const farAway = 200 * time.Millisecond

// A farLine passes connections on, with everything late by farAway.
type farLine struct {
	address string
	to      atomic.Pointer[string]
}

func newFarLine(t *testing.T) *farLine {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &farLine{address: l.Addr().String()}
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	pass := func(from, to net.Conn) {
		type late struct {
			at   time.Time
			data []byte
		}
		line := make(chan late, 10_000)
		running.Go(func() {
			defer to.Close()
			for p := range line {
				<-time.After(time.Until(p.at)) // the delay that this line is for
				if _, err := to.Write(p.data); err != nil {
					from.Close()
				}
			}
		})
		defer close(line)
		for {
			buf := make([]byte, 32<<10)
			n, err := from.Read(buf)
			if n > 0 {
				line <- late{time.Now().Add(farAway), buf[:n]}
			}
			if err != nil {
				return
			}
		}
	}
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			to := f.to.Load()
			if to == nil {
				near.Close()
				continue
			}
			far, err := net.Dial("tcp", *to)
			if err != nil {
				near.Close()
				continue
			}
			mu.Lock()
			open = append(open, near, far)
			mu.Unlock()
			running.Go(func() { pass(near, far) })
			running.Go(func() { pass(far, near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return f
}

// Two nodes between which everything takes 200 ms each way: they stay together, with one winner,
// a stream of one is whole on the other, and a standby takes the place of a node that is killed.
func TestNodesFarApart(t *testing.T) {
	long(t, "a machine that stands still is as far away")
	t.Parallel()
	begin := func(name string, join ...string) *server {
		line := newFarLine(t)
		o := flags("--cluster --cluster-address 127.0.0.1:0 --takeover standby --takeover-after 0 --webrtc off --srt off --rtsp off --node-name " + name + " --advertise http://" + line.address)
		o.env = []string{clusterEnv(t)}
		for _, address := range join {
			o.flags = append(o.flags, "--join", address)
		}
		s := serve(t, o)
		line.to.Store(&s.HTTP)
		return s
	}
	a := begin("a")
	route := newFarLine(t)
	route.to.Store(&a.Cluster)
	b := begin("b", route.address)
	encode(t, 'a', a.HTTP)
	b.awaitCluster(t, 2, "live/s", "a")
	encode(t, 'b', b.HTTP)
	b.awaitStandby(t)
	v := b.observe(t, "flv")
	v.sees(t, 'a', 5)
	for range 5 {
		v.sees(t, 'a', 20)
		for _, s := range []*server{a, b} {
			if list := s.winnersAmong(t, 2); len(list) != 1 || list[0] != "a" {
				t.Errorf("the winners are %q", list)
			}
		}
	}
	v.mu.Lock()
	if v.skipped > 0 || v.switches > 0 {
		t.Errorf("%d pictures are missing, %d changes of the encoder", v.skipped, v.switches)
	}
	v.mu.Unlock()
	a.kill()
	v.sees(t, 'b', 20)
	b.awaitCluster(t, 1, "live/s", "b")
}
