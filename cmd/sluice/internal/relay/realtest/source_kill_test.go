//go:build linux

package realtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/sluicetest"
)

// edgeGap is the longest gap in a viewer's picture when the node is killed from which his
// pulls, while others have the stream.
const edgeGap = 500 * time.Millisecond

// longGap is from when on it is reported where the time of a gap went.
const longGap = 400 * time.Millisecond

// disturbance is from when on a gap in a picture that no fault is about is the machine's, so
// that other gaps of that time are not judged. A frame every 40 ms and a merge time of 80 ms
// leave 120 ms between two writes.
const disturbance = 200 * time.Millisecond

// phases tell where the time of a gap went: when the edge noticed that its source was gone,
// how long it waited and looked for another, connected, and waited for a frame, as its log
// has them, and how the stream went at its publisher's node, as own saw it meanwhile.
func phases(edge *server, killed, dead time.Time, v, own *audience) string {
	after := func(at time.Time) time.Duration { return at.Sub(killed).Round(time.Millisecond) }
	var b strings.Builder
	fmt.Fprintf(&b, "from %v after the kill to %v; the process had ended at %v; at the publisher's node at most %v, from %v\n",
		after(v.since), after(v.since.Add(v.longest)), after(dead), own.longest.Round(time.Millisecond), after(own.since))
	for _, line := range edge.stderr.matches("lost the origin|does not have the stream|pulling on|let go|no stream|joined|left") {
		_, rest, _ := strings.Cut(line, "time=")
		stamp, rest, _ := strings.Cut(rest, " ")
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil && at.After(killed.Add(-5*time.Second)) {
			fmt.Fprintf(&b, "  %v %s\n", after(at), rest)
		}
	}
	return b.String()
}

// edgeNode starts a node of a cluster in which one node at most pulls a stream from its
// publisher's, and the others from that one.
func edgeNode(t *testing.T, name string, others ...*server) *server {
	t.Helper()
	o := flags("--cluster --cluster-address 127.0.0.1:0 --webrtc off --srt off --rtsp off --log-level debug --node-name " + name)
	o.env = []string{clusterEnv(t), "SLUICE_TEST_DIRECT=1"}
	for _, s := range others {
		o.flags = append(o.flags, "--join", s.Cluster)
	}
	return serve(t, o)
}

// sourceOf waits until an edge pulls live/s from another edge, as all nodes that are
// given see it, and returns both.
func sourceOf(t *testing.T, a *server, edges map[string]*server) (source, edge string) {
	t.Helper()
	eventually(t, lengthened(20*time.Second), func() string {
		var c struct {
			Streams []struct {
				Node, S, F string
				L          int
			}
		}
		a.get(t, "/api/cluster", &c)
		copies := 0
		source = ""
		for _, h := range c.Streams {
			if h.S != "live/s" || h.L == 0 {
				continue
			}
			copies++
			if edges[h.F] != nil {
				source, edge = h.F, h.Node
			}
		}
		if source == "" || copies != len(edges) {
			return fmt.Sprintf("%d copies, none of them pulled from an edge: %+v", copies, c.Streams)
		}
		return ""
	})
	return source, edge
}

// An encoder on one node, and three edges, of which one pulls from the encoder's node and
// others from it. Again and again the source of an edge is killed, and started again:
// viewers of the other edges stay, and miss nothing.
func TestEdgesSurviveKillsOfTheirSource(t *testing.T) {
	long(t, "200 kills take half an hour")
	random := rand.New(rand.NewPCG(sluicetest.Seed(t), 0))
	a := edgeNode(t, "a")
	encode(t, 'a', a.HTTP)
	edges, audiences := map[string]*server{}, map[string][]*audience{}
	// Each edge has a stream of its own, too, which shows how well the machine lets it work.
	encoders, controls := map[string]*encoder{}, map[string]*audience{}
	begin := func(name string) {
		edges[name] = edgeNode(t, name, a)
		edges[name].awaitCluster(t, 1+len(edges), "live/s", "a")
		audiences[name] = []*audience{edges[name].observe(t, "flv"), edges[name].observe(t, "rtmp")}
		for _, v := range audiences[name] {
			v.sees(t, 'a', 5)
		}
		if encoders[name] == nil {
			encoders[name] = encodeAs(t, 't', "t-"+name, edges[name].HTTP)
		}
		encoders[name].to.Store(&edges[name].HTTP)
		edges[name].awaitLive(t, "live/t-"+name)
		controls[name] = edges[name].observeStream(t, "flv", "t-"+name)
		controls[name].sees(t, 't', 5)
	}
	own := a.observe(t, "flv")
	for _, name := range []string{"b", "c", "d"} {
		begin(name)
	}
	more, done := rounds(1, 200, 40*time.Minute), 0
	g := gaps{control: []*audience{own}}
	wrong, missing := 0, 0
	defer func() {
		judge(t, fmt.Sprintf("%d kills of an edge's source, while another node has the stream", done), append(g.bounds("longest gap in the picture", edgeGap),
			bound{what: "viewers of the other edges disconnected, or with a wrong picture", is: time.Duration(wrong), number: true},
			bound{what: "pictures lost by them", is: time.Duration(missing), number: true})...)
	}()
	for ; more(done); done++ {
		source, edge := sourceOf(t, a, edges)
		audiences[edge][0].sees(t, 'a', 1+random.IntN(25)) // some moment
		g.control = []*audience{own}
		for name, v := range controls {
			if name != source {
				g.control = append(g.control, v)
			}
		}
		g.begin()
		for name, list := range audiences {
			for _, v := range list {
				if name != source {
					v.again()
				}
			}
		}
		killed := time.Now()
		edges[source].kill()
		dead := time.Now()
		delete(edges, source)
		delete(audiences, source)
		var left []*audience
		for _, list := range audiences {
			for _, v := range list {
				v.sees(t, 'a', 15)
				left = append(left, v)
			}
		}
		noise := g.disturbance()
		g.end(longest(left))
		own.mu.Lock()
		for name, list := range audiences {
			for _, v := range list {
				v.mu.Lock()
				if v.longest > longGap {
					t.Logf("round %d, %s of %s, which pulled from %s: a gap of %v, in another's picture one of %v\n%s", done, v.name, name, source, v.longest, noise, phases(edges[name], killed, dead, v, own))
				}
				v.mu.Unlock()
			}
		}
		own.mu.Unlock()
		w, m := broken(left)
		wrong, missing = wrong+w, missing+m
		if w+m > 0 {
			t.Fatalf("round %d: %d viewers have something wrong, %d pictures are missing", done, w, m)
		}
		begin(source)
	}
}
