//go:build linux

package realtest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/sluicetest"
)

// rounds says whether a test that repeats something goes on after so many rounds: short of
// them, in make long as many as fit into a time, at most long, or as many as SLUICE_TEST_ROUNDS
// says.
func rounds(short, long int, within time.Duration) func(done int) bool {
	began := time.Now()
	number, _ := strconv.Atoi(os.Getenv("SLUICE_TEST_ROUNDS"))
	return func(done int) bool {
		if number > 0 {
			return done < number
		}
		if os.Getenv("SLUICE_LONG") == "" {
			return done < short
		}
		return done < long && (done < short || time.Since(began) < within)
	}
}

// standbyNode starts a node whose publishers stand by for one another.
func standbyNode(t *testing.T, name string, others ...*server) *server {
	t.Helper()
	// An encoder that a busy machine keeps from sending has not gone, and a node has time to
	// hand over.
	o := flags("--cluster --cluster-address 127.0.0.1:0 --takeover standby --takeover-after 0 --cluster-drain 1m --webrtc off --srt off --rtsp off --node-name " + name)
	o.env = []string{clusterEnv(t)}
	for _, s := range others {
		o.flags = append(o.flags, "--join", s.Cluster)
	}
	return serve(t, o)
}

// standbyNodes starts three: a with an encoder that publishes, b with one that stands by, c.
func standbyNodes(t *testing.T) (a, b, c *server) {
	t.Helper()
	c = standbyNode(t, "c")
	a = standbyNode(t, "a", c)
	encode(t, 'a', a.HTTP)
	c.awaitCluster(t, 2, "live/s", "a")
	b = standbyNode(t, "b", c)
	b.awaitCluster(t, 3, "live/s", "a")
	encode(t, 'b', b.HTTP)
	b.awaitStandby(t)
	return a, b, c
}

// awaitStandby waits until a node has a publisher that stands by.
func (s *server) awaitStandby(t testing.TB) {
	t.Helper()
	eventually(t, lengthened(30*time.Second), func() string {
		var answer struct {
			Streams []struct {
				Name     string
				Standbys []struct{ ID string }
			}
		}
		s.get(t, "/api/streams?node=self", &answer)
		for _, st := range answer.Streams {
			if st.Name == "live/s" && len(st.Standbys) == 1 {
				return ""
			}
		}
		return "no publisher stands by"
	})
}

// The longest gap in a viewer's picture: one group and a second.
const standbyGap = encoderGroup*encoderStep + time.Second

// Two encoders on two nodes, viewers on a third. Again and again the node of the encoder
// that viewers get is killed, and started again: no viewer is disconnected, each gets what
// was published, in order, and changes encoders at key frames alone.
func TestStandbySurvivesKills(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(sluicetest.Seed(t), 0))
	c := standbyNode(t, "c")
	nodes := map[byte]*server{'a': standbyNode(t, "a", c)}
	encoders := map[byte]*encoder{'a': encode(t, 'a', nodes['a'].HTTP)}
	c.awaitCluster(t, 2, "live/s", "a")
	nodes['b'] = standbyNode(t, "b", c)
	nodes['b'].awaitCluster(t, 3, "live/s", "a")
	encoders['b'] = encode(t, 'b', nodes['b'].HTTP)
	nodes['b'].awaitStandby(t)
	viewers := []*audience{c.observe(t, "flv"), c.observe(t, "ws"), c.observe(t, "rtmp")}
	for _, v := range viewers {
		v.sees(t, 'a', 5)
	}
	encodeAs(t, 't', "t", c.HTTP)
	c.awaitLive(t, "live/t")
	g := gaps{control: []*audience{c.observeStream(t, "flv", "t")}}
	g.control[0].sees(t, 't', 5)
	active, other := byte('a'), byte('b')
	more, n := rounds(3, 200, 40*time.Minute), 0
	defer func() {
		wrong, _ := broken(viewers)
		judge(t, fmt.Sprintf("%d kills of the publisher's node, with a standby on another", n),
			append(g.bounds("longest gap in the picture", standbyGap), bound{what: "viewers disconnected, or with a wrong picture", is: time.Duration(wrong), number: true})...)
	}()
	for ; more(n); n++ {
		viewers[0].sees(t, active, 1+random.IntN(40)) // some moment
		g.begin(viewers...)
		nodes[active].kill()
		for _, v := range viewers {
			v.sees(t, other, 3)
		}
		if gap := longest(viewers); !g.end(gap) || gap > standbyGap {
			t.Logf("round %d: a gap of %v; another stream: %v", n, gap.Round(time.Millisecond), g.disturbance().Round(time.Millisecond))
		}
		nodes[active] = standbyNode(t, string(rune(active)), c)
		nodes[active].awaitCluster(t, 3, "live/s", string(rune(other)))
		encoders[active].to.Store(&nodes[active].HTTP)
		nodes[active].awaitStandby(t)
		active, other = other, active
	}
	g.begin(viewers...) // the gaps are judged above
	checkAudience(t, viewers, n)
}

// checkAudience checks what viewers got, over a number of changes between encoders.
func checkAudience(t *testing.T, viewers []*audience, changes int) {
	t.Helper()
	for _, v := range viewers {
		v.mu.Lock()
		if v.err != nil {
			t.Errorf("%s: %v", v.name, v.err)
		}
		t.Logf("%s: %d pictures, %d changes of the encoder, longest gap %v", v.name, v.pictures, v.switches, v.longest.Round(time.Millisecond))
		if v.switches != changes {
			t.Errorf("%s: %d changes of the encoder, not %d", v.name, v.switches, changes)
		}
		if os.Getenv("SLUICE_LONG") != "" && v.longest > standbyGap {
			t.Errorf("%s: a gap of %v, the limit is %v", v.name, v.longest, standbyGap)
		}
		v.mu.Unlock()
	}
}

// One relay without a cluster: an encoder that is silent, and one that goes.
func TestStandbyOnOneRelay(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--takeover standby --takeover-after 5s --webrtc off --srt off --rtsp off"))
	a := encode(t, 'a', s.HTTP)
	s.awaitLive(t, "live/s")
	encode(t, 'b', s.HTTP)
	s.awaitStandby(t)
	viewers := []*audience{s.observe(t, "flv"), s.observe(t, "rtmp")}
	for _, v := range viewers {
		v.sees(t, 'a', 5)
	}
	a.silence.Store(true)
	for _, v := range viewers {
		v.sees(t, 'b', 5)
	}
	a.silence.Store(false)
	for _, v := range viewers {
		v.sees(t, 'b', 50)
	}
	checkAudience(t, viewers, 1)
}

// A node with the publisher is ended by SIGTERM: the encoder that stands by takes its
// place first, viewers on other nodes miss nothing but what lies between two key frames,
// and its own are ended before a key frame.
func TestDrainHandsOver(t *testing.T) {
	t.Parallel()
	a, b, c := standbyNodes(t)
	viewers := []*audience{c.observe(t, "flv"), c.observe(t, "rtmp"), b.observe(t, "flv")}
	own := a.observe(t, "flv")
	for _, v := range append(viewers, own) {
		v.sees(t, 'a', 5)
	}
	a.signal(t, syscall.SIGTERM)
	if code := a.wait(t, lengthened(30*time.Second)); code != 0 {
		t.Errorf("the node ended with %d", code)
	}
	for _, v := range viewers {
		v.sees(t, 'b', 30)
	}
	checkAudience(t, viewers, 1)
	if len(a.stderr.matches("drained.* needed=0")) != 1 {
		t.Error("it did not hand over all")
	}
	eventually(t, lengthened(20*time.Second), func() string {
		own.mu.Lock()
		defer own.mu.Unlock()
		if own.err == nil {
			return "a viewer of the node that was ended is still connected"
		}
		return ""
	})
	// Behind the pictures of a come those of b from a key frame on.
	if !errors.Is(own.err, io.EOF) || own.latest.id == 'b' && (own.latest.n+1)%encoderGroup != 0 {
		t.Errorf("a viewer of the node that was ended got picture %d last, before %v", own.latest.n, own.err)
	}
}
