//go:build linux

package realtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/sluicetest"
)

// insideNamespace is the environment variable of a test that runs in namespaces of its
// own.
const insideNamespace = "SLUICE_TEST_INSIDE"

// inNamespaces runs a test again, in a user and a network namespace of its own, in which
// it may do what it likes, and reports whether this is that second run.
func inNamespaces(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideNamespace) != "" {
		return true
	}
	for _, name := range []string{"unshare", "nsenter", "ip"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s, of util-linux and iproute2, for a network of the test's own", name)
		}
	}
	if out, err := exec.Command("unshare", "-Urn", "true").CombinedOutput(); err != nil {
		t.Skipf("no right to make a network namespace: %v %s", err, out)
	}
	p := start(t, []string{insideNamespace + "=1", builtProgram + "=" + sluice(t)}, "unshare", "-Urn", os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "3h")
	<-p.done
	t.Logf("%s", p.stdout.tail(200))
	if p.err != nil || !strings.Contains(p.stdout.String(), "--- PASS: "+t.Name()) {
		t.Errorf("in the namespace: %v\n%s", p.err, p.stderr.tail(20))
	}
	return false
}

// ip runs the program ip, in the network of a process unless that is nil.
func ip(t *testing.T, in *process, line string) {
	t.Helper()
	args := append([]string{"ip"}, strings.Fields(line)...)
	if in != nil {
		args = append([]string{"nsenter", "-t", fmt.Sprint(in.cmd.Process.Pid), "-n"}, args...)
	}
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
}

// A machine is a node on a network namespace of its own, which a bridge connects with the
// others and with the test.
type machine struct {
	*server
	holder  *process // keeps the namespace
	address string
}

// bridge makes the bridge between machines.
func bridge(t *testing.T) {
	t.Helper()
	ip(t, nil, "link set lo up")
	ip(t, nil, "link add bridge0 type bridge")
	ip(t, nil, "addr add 10.77.0.254/24 dev bridge0")
	ip(t, nil, "link set bridge0 up")
}

// newMachine starts node number i, from 1, whose clock is wrong by so much.
func newMachine(t *testing.T, i int, wrong time.Duration, others ...*machine) *machine {
	t.Helper()
	m := &machine{holder: start(t, nil, "unshare", "-n", "sleep", "100000"), address: fmt.Sprintf("10.77.0.%d", i)}
	pid := m.holder.cmd.Process.Pid
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, lengthened(20*time.Second), func() string {
		if theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err != nil || theirs == own {
			return fmt.Sprintf("no namespace of its own: %s, %v", theirs, err)
		}
		return ""
	})
	ip(t, nil, fmt.Sprintf("link add near%d type veth peer name far netns %d", i, pid))
	ip(t, nil, fmt.Sprintf("link set near%d master bridge0 up", i))
	ip(t, m.holder, "addr add "+m.address+"/24 dev far")
	ip(t, m.holder, "link set far up")
	ip(t, m.holder, "link set lo up")
	name := string(rune('a' + i - 1))
	o := flags(strings.ReplaceAll("--cluster --cluster-address A:7946 --http A:8080 --rtmp A:1935 --webrtc off --srt off --rtsp off --takeover standby --takeover-after 0 --node-name ", "A", m.address) + name)
	for _, other := range others {
		o.flags = append(o.flags, "--join", other.Cluster)
	}
	o.env = []string{clusterEnv(t), "SLUICE_TEST_CLOCK=" + wrong.String()}
	o.under = []string{"nsenter", "-t", fmt.Sprint(pid), "-n"}
	m.server = serve(t, o)
	return m
}

// deaf makes m send nothing to others, which is what it is when they do not get it; undo
// ends that.
func (m *machine) deaf(t *testing.T, others ...*machine) {
	t.Helper()
	for _, o := range others {
		ip(t, m.holder, "route add blackhole "+o.address+"/32")
	}
}

func (m *machine) undo(t *testing.T, others ...*machine) {
	t.Helper()
	for _, o := range others {
		ip(t, m.holder, "route del blackhole "+o.address+"/32")
	}
}

// winners are the publications of live/s that viewers get, as a node sees them.
func (m *machine) winners(t *testing.T) (nodes int, list []string) {
	t.Helper()
	var c struct {
		Nodes   []struct{}
		Streams []struct {
			Node string
			S    string
			L    int
			W    bool
		}
	}
	m.get(t, "/api/cluster", &c)
	for _, h := range c.Streams {
		if h.S == "live/s" && h.L == 0 && !h.W {
			list = append(list, h.Node)
		}
	}
	return len(c.Nodes), list
}

// healWithin is how long after a partition all nodes may need to have the same winner.
const healWithin = 2 * time.Second

// Three nodes, whose clocks differ by 10 s, each on a machine of its own. The one with the
// publisher of a stream is cut off, in both directions or in one, and comes back: then all
// agree on one winner, viewers stay connected, and those of another stream lose nothing.
func TestPartitions(t *testing.T) {
	if os.Getenv(insideNamespace) == "" {
		t.Parallel()
	}
	if !inNamespaces(t) {
		return
	}
	bridge(t)
	random := rand.New(rand.NewPCG(sluicetest.Seed(t), 0))
	c := newMachine(t, 3, 0)
	a := newMachine(t, 1, 10*time.Second, c)
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
	viewers := []*audience{c.observe(t, "flv"), c.observe(t, "rtmp"), b.observe(t, "flv"), a.observe(t, "flv")}
	for _, v := range viewers {
		v.sees(t, 'a', 5)
	}
	unaffected := []*audience{c.observeStream(t, "flv", "t"), b.observeStream(t, "flv", "t")}
	for _, v := range unaffected {
		v.sees(t, 't', 5)
	}
	g := gaps{control: unaffected}
	more, i := rounds(1, 50, 30*time.Minute), 0
	defer func() {
		wrong, _ := broken(viewers)
		wrongOthers, missing := broken(unaffected)
		judge(t, fmt.Sprintf("%d partitions of 5 s", i), append(g.bounds("until all nodes have one winner", healWithin),
			bound{what: "viewers disconnected, or with a wrong picture", is: time.Duration(wrong), number: true},
			bound{what: "of an unaffected stream: pictures lost", is: time.Duration(missing), number: true},
			bound{what: "of an unaffected stream: viewers disconnected, or with a wrong picture", is: time.Duration(wrongOthers), number: true})...)
	}()
	for ; more(i); i++ {
		oneWay := i%3 == 2
		a.deaf(t, b, c)
		if !oneWay {
			b.deaf(t, a)
			c.deaf(t, a)
		}
		healed := time.After(5*time.Second + time.Duration(random.IntN(500))*time.Millisecond)
		for _, v := range viewers[:3] {
			v.sees(t, 'b', 3)
		}
		<-healed
		// A line is there again in both directions at once: what a sends is let through last,
		// or its first packet would come and the answer not.
		if !oneWay {
			b.undo(t, a)
			c.undo(t, a)
		}
		a.undo(t, b, c)
		g.begin()
		began := time.Now()
		winner := ""
		eventually(t, lengthened(30*time.Second), func() string {
			for _, m := range all {
				nodes, list := m.winners(t)
				if nodes != 3 || len(list) != 1 || winner != "" && m != a && list[0] != winner {
					winner = ""
					return fmt.Sprintf("node %s knows %d nodes and the winners %v", m.address, nodes, list)
				}
				winner = list[0]
			}
			return ""
		})
		if took := time.Since(began); !g.end(took) || took > healWithin {
			t.Logf("round %d: one winner %v after the partition; gap of an unaffected stream: %v", i, took.Round(time.Millisecond), g.disturbance().Round(time.Millisecond))
		}
		for _, v := range viewers {
			v.sees(t, winner[0], 3)
		}
		if winner == "b" { // the next partition is to have the same beginning
			t.Fatalf("round %d: the later publisher has won", i)
		}
		b.awaitStandby(t)
	}
	for _, v := range append(viewers, unaffected...) {
		v.mu.Lock()
		if v.err != nil {
			t.Errorf("%s: %v", v.name, v.err)
		}
		t.Logf("%s: %d pictures, %d changes of the encoder, longest gap %v", v.name, v.pictures, v.switches, v.longest.Round(time.Millisecond))
		v.mu.Unlock()
	}
}
