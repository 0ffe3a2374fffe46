package directory

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"
)

// world is a cluster over a network that loses, repeats, delays and reorders
// messages and falls apart. Time is virtual.
type world struct {
	t        *testing.T
	random   *rand.Rand
	policy   Policy
	now      time.Time
	nodes    map[string]*site
	mail     []letter
	faulty   bool
	slow     bool           // key frames do not come by themselves
	side     map[string]int // of a partition
	bytes    int
	lastRun  uint64
	messages int
}

// site is a node that runs, with what it really has: the model.
type site struct {
	d      *Directory
	offset time.Duration // of its clock
	has    map[string]uint64
}

type letter struct {
	at       time.Time
	from, to string
	run      uint64 // of the receiver
	body     []byte
}

func newWorld(t *testing.T, seed uint64, policy Policy) *world {
	return &world{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), policy: policy,
		now: time.Unix(1_700_000_000, 0), nodes: map[string]*site{}, side: map[string]int{},
	}
}

func (w *world) begin(name string) {
	w.lastRun++
	s := &site{
		d:      New(Options{Node: name, Run: w.lastRun, Policy: w.policy}),
		offset: time.Duration(w.random.IntN(20_001)-10_000) * time.Millisecond,
		has:    map[string]uint64{},
	}
	w.nodes[name] = s
	s.d.SetNode(w.local(s), Node{URL: "http://" + name})
	w.after(name)
}

func (w *world) local(s *site) time.Time { return w.now.Add(s.offset) }

// after sends what a node has to say and does what it decided.
func (w *world) after(name string) {
	s := w.nodes[name]
	for s != nil {
		out, events := s.d.Take()
		if len(out) == 0 && len(events) == 0 {
			return
		}
		for _, m := range out {
			w.post(name, m)
		}
		for _, e := range events {
			if e.Lost && w.policy != Standby && s.has[e.Stream] == e.Epoch {
				delete(s.has, e.Stream)
				s.d.Remove(e.Stream, e.Epoch)
			}
			if epoch, held, ok := s.d.Held(e.Stream); ok && w.policy == Standby && !w.slow {
				s.d.SetActive(e.Stream, epoch, !held) // its key frame comes at once
			}
		}
	}
}

func (w *world) post(from string, m Message) {
	body := m.Append(nil)
	for _, to := range slices.Sorted(maps.Keys(w.nodes)) {
		s := w.nodes[to]
		if to == from || m.To != "" && m.To != to {
			continue
		}
		copies := 1
		if w.faulty {
			switch r := w.random.IntN(10); {
			case r < 2 || w.side[from] != w.side[to]:
				copies = 0
			case r == 3:
				copies = 2
			}
		}
		for range copies {
			delay := time.Duration(1+w.random.IntN(5)) * time.Millisecond
			if w.faulty {
				delay = time.Duration(w.random.IntN(1500)) * time.Millisecond
			}
			w.mail = append(w.mail, letter{w.now.Add(delay), from, to, s.d.own.run, body})
		}
	}
}

// run lets time pass.
func (w *world) run(d time.Duration) {
	const step = 50 * time.Millisecond
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(step)
		for {
			var due []letter
			w.mail = slices.DeleteFunc(w.mail, func(l letter) bool {
				if l.at.After(w.now) {
					return false
				}
				due = append(due, l)
				return true
			})
			if len(due) == 0 {
				break
			}
			w.random.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
			for _, l := range due {
				s := w.nodes[l.to]
				if s == nil || s.d.own.run != l.run {
					continue
				}
				m, err := Parse(l.body)
				if err != nil {
					w.t.Fatal(err)
				}
				w.bytes += len(l.body)
				w.messages++
				s.d.Receive(w.local(s), m)
				w.after(l.to)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
			s := w.nodes[name]
			s.d.Tick(w.local(s), true)
			w.after(name)
		}
	}
}

// act does something at random.
func (w *world) act() {
	name := fmt.Sprintf("n%d", w.random.IntN(6))
	stream := fmt.Sprintf("live/%d", w.random.IntN(8))
	s := w.nodes[name]
	switch r := w.random.IntN(20); {
	case s == nil:
		w.begin(name)
		return
	case r == 0: // killed
		delete(w.nodes, name)
		return
	case r == 1:
		s.d.Leave()
		w.after(name)
		delete(w.nodes, name)
		return
	case r < 4:
		for n := range 6 {
			w.side[fmt.Sprintf("n%d", n)] = w.random.IntN(2)
		}
	case r < 5:
		clear(w.side)
	case r < 12:
		if epoch, _, ok := s.d.Publish(stream, "p"); ok {
			s.has[stream] = epoch
		}
	case r < 15:
		s.d.Remove(stream, s.has[stream])
		delete(s.has, stream)
	case r < 18:
		if s.has[stream] == 0 {
			s.d.Copy(stream, uint64(1+w.random.IntN(3)), w.random.IntN(2), "n0")
		}
	case r == 18 && w.policy == Standby:
		if next, ok := s.d.Yield(stream, s.has[stream]); ok {
			s.has[stream] = next
		}
	default:
		s.d.SetFigures(stream, w.random.Int64N(1000), w.random.IntN(100))
	}
	w.after(name)
}

// keys are what a directory knows, without figures.
func keys(d *Directory) map[string]key {
	all := map[string]key{}
	for _, h := range d.Holdings("") {
		all[h.Node+" "+h.Stream] = h.key()
	}
	return all
}

// winners checks that all nodes know the same winner, of publications that there
// really are, and at most one publication of a name where the policy allows no more.
func (w *world) winners(seed uint64) {
	want := map[string]Rank{}
	for name, s := range w.nodes {
		for stream, epoch := range s.has {
			rank := Rank{epoch, name}
			best, ok := want[stream]
			if ok && w.policy != Standby {
				w.t.Errorf("seed %d, %s: %s has two publishers, %v and %v", seed, w.policy, stream, best, rank)
			}
			if !ok || w.policy.beats(rank, best) {
				want[stream] = rank
			}
		}
	}
	for name, s := range w.nodes {
		for n := range 8 {
			stream := fmt.Sprintf("live/%d", n)
			if got, _ := s.d.Winner(stream); got != want[stream] {
				w.t.Errorf("seed %d, %s: to %s the winner of %s is %v, not %v", seed, w.policy, name, stream, got, want[stream])
			}
			for _, h := range s.d.Holdings(stream) {
				if rank := (Rank{h.Epoch, h.Node}); h.Level == 0 && h.Waiting == (rank == want[stream]) {
					w.t.Errorf("seed %d, %s: to %s %v waits: %v, the winner is %v", seed, w.policy, name, rank, h.Waiting, want[stream])
				}
			}
		}
	}
}

func (w *world) equal(seed uint64) {
	want := map[string]key{}
	for name, s := range w.nodes {
		for stream, e := range s.d.own.entries {
			want[name+" "+stream] = e.key()
			if e.Level == 0 && s.has[stream] != e.Epoch {
				w.t.Errorf("seed %d: %s has %s in its list with epoch %d, it is %d", seed, name, stream, e.Epoch, s.has[stream])
			}
		}
	}
	for name, s := range w.nodes {
		if got := keys(s.d); !reflect.DeepEqual(got, want) {
			w.t.Errorf("seed %d, %s: %s knows %v, there is %v", seed, w.policy, name, got, want)
		}
		var sum uint64
		for _, p := range s.d.peers {
			sum = 0
			for _, e := range p.entries {
				sum += e.hash()
			}
			if sum != p.sum {
				w.t.Errorf("seed %d: the sum of %s at %s is wrong", seed, p.name, name)
			}
		}
		if len(s.d.peers) != len(w.nodes)-1 {
			w.t.Errorf("seed %d: %s knows %d other nodes of %d", seed, name, len(s.d.peers), len(w.nodes)-1)
		}
	}
}

// Whatever a network and killed nodes did, two seconds after it is whole all nodes
// have the same winner of each name, and when three seconds have passed they have
// the same directory.
func TestHistories(t *testing.T) {
	rounds := 24
	if testing.Short() {
		rounds = 10
	}
	first := rand.Uint64()
	if text := os.Getenv("SLUICE_SEED"); text != "" {
		fmt.Sscan(text, &first)
	}
	t.Logf("seed %d and the next %d", first, rounds)
	for i := range rounds {
		seed := first + uint64(i)
		policy := []Policy{Refuse, Replace, Standby}[i%3]
		w := newWorld(t, seed, policy)
		for n := range 4 {
			w.begin(fmt.Sprintf("n%d", n))
		}
		w.faulty = true
		for range 150 {
			w.act()
			w.run(time.Duration(w.random.IntN(200)) * time.Millisecond)
		}
		w.run(3 * time.Second) // what was killed is not among the living
		w.faulty = false
		clear(w.side)
		// What is on its way from before arrives late, too.
		w.run(2 * time.Second)
		w.winners(seed)
		w.run(1200 * time.Millisecond)
		w.equal(seed)
		if t.Failed() {
			return
		}
	}
}
