//go:build linux

package realtest

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// A node is stopped for a while, and goes on: an edge, whose viewers get the stream again while
// those of other nodes notice nothing; then the publisher's, whose standby on another node has
// taken its place when that was long. Afterwards all agree on one winner.
func TestNodesThatAreStopped(t *testing.T) {
	long(t, "nodes stand still for up to a minute")
	t.Parallel()
	for _, d := range []time.Duration{2 * time.Second, 10 * time.Second, time.Minute} {
		t.Run(d.String(), func(t *testing.T) { stopNodes(t, d) })
	}
}

// forgotten is how long a node is stopped at least for the others to have forgotten it.
const forgotten = 5 * time.Second

func stopNodes(t *testing.T, d time.Duration) {
	a, b, c := standbyNodes(t)
	edge := standbyNode(t, "d", c)
	edge.awaitCluster(t, 4, "live/s", "a")
	others := []*audience{c.observe(t, "flv"), c.observe(t, "rtmp")}
	own := edge.observe(t, "flv")
	for _, v := range append(others, own) {
		v.sees(t, 'a', 5)
	}
	stopped := func(s *server, meanwhile func()) {
		t.Helper()
		s.signal(t, syscall.SIGSTOP)
		over := time.NewTimer(d)
		if d >= forgotten {
			meanwhile()
		}
		<-over.C
		s.signal(t, syscall.SIGCONT)
	}
	stopped(edge, func() { c.awaitCluster(t, 3, "live/s", "a") })
	for _, s := range []*server{a, b, c, edge} {
		s.awaitCluster(t, 4, "live/s", "a")
	}
	for _, v := range append(others, own) {
		v.sees(t, 'a', 25)
	}
	for _, v := range others {
		v.mu.Lock()
		if v.skipped > 0 || v.switches > 0 {
			t.Errorf("%s: %d pictures are missing, %d changes of the encoder", v.name, v.skipped, v.switches)
		}
		v.mu.Unlock()
	}
	stopped(a, func() {
		for _, v := range append(others, own) {
			v.sees(t, 'b', 25)
		}
	})
	// a was the first, unless its encoder has given up and come again.
	winner := ""
	eventually(t, lengthened(30*time.Second), func() string {
		winner = ""
		for _, s := range []*server{a, b, c, edge} {
			got := s.winnersAmong(t, 4)
			if len(got) != 1 || winner != "" && got[0] != winner {
				return fmt.Sprintf("the winners are %q, at another node %q", got, winner)
			}
			winner = got[0]
		}
		return ""
	})
	for _, v := range append(others, own) {
		v.sees(t, winner[0], 25)
		t.Logf("%s: longest gap %v", v.name, v.longest)
	}
}

// The node of an edge's stream drains, and the node with the standby does at the same
// time: both end soon. With a third encoder viewers go on with that; without one they
// stay, until a node is there again.
func TestNodesDrainTogether(t *testing.T) {
	long(t, "TestDrainHandsOver has one node that drains")
	t.Parallel()
	c := standbyNode(t, "c")
	nodes := map[byte]*server{}
	encoders := map[byte]*encoder{}
	for i, id := range []byte("abd") {
		nodes[id] = standbyNode(t, string(rune(id)), c)
		winner := "a"
		if id == 'a' {
			winner = ""
		}
		nodes[id].awaitCluster(t, i+2, "live/s", winner)
		encoders[id] = encode(t, id, nodes[id].HTTP)
		if id == 'a' {
			c.awaitCluster(t, 2, "live/s", "a")
		} else {
			nodes[id].awaitStandby(t)
		}
	}
	viewers := []*audience{c.observe(t, "flv"), c.observe(t, "rtmp")}
	for _, v := range viewers {
		v.sees(t, 'a', 5)
	}
	end := func(list ...byte) {
		t.Helper()
		for _, id := range list {
			nodes[id].signal(t, syscall.SIGTERM)
		}
		began := time.Now()
		for _, id := range list {
			if code := nodes[id].wait(t, lengthened(30*time.Second)); code != 0 {
				t.Errorf("node %c ended with %d", id, code)
			}
		}
		t.Logf("%d nodes ended after %v", len(list), time.Since(began).Round(time.Millisecond))
	}
	end('a', 'b')
	for _, v := range viewers {
		v.sees(t, 'd', 10)
	}
	nodes['a'] = standbyNode(t, "a", c)
	nodes['a'].awaitCluster(t, 3, "live/s", "d")
	encoders['a'].to.Store(&nodes['a'].HTTP)
	nodes['a'].awaitStandby(t)
	end('a', 'd')
	c.awaitCluster(t, 1, "live/s", "")
	nodes['b'] = standbyNode(t, "b", c)
	encoders['b'].to.Store(&nodes['b'].HTTP)
	for _, v := range viewers {
		v.sees(t, 'b', 10)
		t.Logf("%s: %d changes of the encoder, longest gap %v", v.name, v.switches, v.longest)
	}
}
