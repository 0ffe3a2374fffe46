//go:build linux

package realtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// nodeAddresses are those of all machines, and not of the test, whose encoders and viewers
// have good lines.
const nodeAddresses = "10.77.0.0/29"

// loses makes m lose a part of the packets that come from other machines; 0 ends that.
func (m *machine) loses(percent int) error {
	lines := []string{"-F INPUT"}
	if percent > 0 {
		lines = append(lines, fmt.Sprintf("-A INPUT -s %s -m statistic --mode random --probability %.2f -j DROP", nodeAddresses, float64(percent)/100))
	}
	for _, line := range lines {
		args := append([]string{"-t", fmt.Sprint(m.holder.cmd.Process.Pid), "-n", "iptables", "-w"}, strings.Fields(line)...)
		if out, err := exec.Command("nsenter", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("iptables %s: %w: %s", line, err, out)
		}
	}
	return nil
}

// Lines between three nodes lose packets, in both directions. Streams that need no other node
// lose nothing; viewers of others may get less, and stay; when the lines are good again, all
// nodes have one winner.
func TestNodesWithBadLines(t *testing.T) {
	long(t, "TestPartitions has what is worse")
	if os.Getenv(insideNamespace) == "" {
		t.Parallel()
	}
	if !inNamespaces(t) {
		return
	}
	bridge(t)
	c := newMachine(t, 3, 0)
	if err := c.loses(1); err != nil {
		t.Fatalf("no lines that lose packets: %v", err)
	}
	a := newMachine(t, 1, 0, c)
	b := newMachine(t, 2, 0, c)
	all := []*machine{a, b, c}
	for _, m := range all {
		m.awaitCluster(t, 3, "live/s", "")
	}
	encode(t, 'a', a.HTTP)
	encodeAs(t, 't', "t", c.HTTP)
	b.awaitCluster(t, 3, "live/s", "a")
	encode(t, 'b', b.HTTP)
	b.awaitStandby(t)
	viewers := []*audience{c.observe(t, "flv"), c.observe(t, "rtmp"), b.observe(t, "flv")}
	for _, v := range viewers {
		v.sees(t, 'a', 5)
	}
	local := []*audience{c.observeStream(t, "flv", "t")}
	local[0].sees(t, 't', 5)
	g := gaps{control: local}
	defer func() {
		wrong, skipped := broken(viewers)
		wrongLocal, missing := broken(local)
		judge(t, "lines that lose 5, 10 and 20 % each way", append(g.bounds("until all nodes have one winner", healWithin),
			bound{what: "viewers disconnected, or with a wrong picture", is: time.Duration(wrong), number: true},
			bound{what: "pictures left out for them", is: time.Duration(skipped), number: true, free: true},
			bound{what: "of a stream that needs no other node: pictures lost", is: time.Duration(missing), number: true},
			bound{what: "of a stream that needs no other node: viewers disconnected, or with a wrong picture", is: time.Duration(wrongLocal), number: true})...)
	}()
	for _, percent := range []int{5, 10, 20} {
		for _, m := range all {
			if err := m.loses(percent); err != nil {
				t.Fatal(err)
			}
		}
		looks, apart, several := 0, 0, 0
		over := time.NewTimer(15 * time.Second)
		tick := time.NewTicker(200 * time.Millisecond)
		for bad := true; bad; {
			for _, m := range all {
				nodes, list := m.winners(t)
				looks++
				if nodes != 3 {
					apart++
				}
				if len(list) > 1 {
					several++
				}
			}
			select {
			case <-tick.C:
			case <-over.C:
				bad = false
			}
		}
		tick.Stop()
		for _, m := range all {
			if err := m.loses(0); err != nil {
				t.Fatal(err)
			}
		}
		g.begin()
		began := time.Now()
		winner := agreed(t, all)
		took := time.Since(began)
		g.end(took)
		for _, v := range viewers {
			v.sees(t, winner[0], 3)
		}
		t.Logf("%d %% lost: of %d looks %d saw another number of nodes, %d several winners; then %s after %v, longest gap in a picture %v", percent, looks, apart, several, winner, took.Round(time.Millisecond), longest(viewers).Round(time.Millisecond))
		a.awaitCluster(t, 3, "live/s", winner)
	}
}

// agreed waits until all machines know each other and the same winner of live/s.
func agreed(t *testing.T, all []*machine) (winner string) {
	t.Helper()
	eventually(t, lengthened(30*time.Second), func() string {
		winner = ""
		for _, m := range all {
			nodes, list := m.winners(t)
			if nodes != len(all) || len(list) != 1 || winner != "" && list[0] != winner {
				return fmt.Sprintf("node %s knows %d nodes and the winners %v", m.address, nodes, list)
			}
			winner = list[0]
		}
		return ""
	})
	return winner
}
