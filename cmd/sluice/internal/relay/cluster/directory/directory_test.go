package directory

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Unix(1_700_000_000, 0)

// quiet is a world without faults, of nodes a, b, c...
func quiet(t *testing.T, policy Policy, names ...string) *world {
	w := newWorld(t, 1, policy)
	for _, name := range names {
		w.begin(name)
	}
	w.run(100 * time.Millisecond)
	return w
}

// publish publishes on a node, and notes it in the model.
func (w *world) publish(node, stream string) (Rank, bool) {
	s := w.nodes[node]
	epoch, winner, ok := s.d.Publish(stream, "10.0.0.1:1")
	if ok {
		s.has[stream] = epoch
	}
	w.after(node)
	return winner, ok
}

func (w *world) winner(node, stream string) string {
	r, _ := w.nodes[node].d.Winner(stream)
	return r.Node
}

func TestANewNodeKnowsAllAtOnce(t *testing.T) {
	w := quiet(t, Refuse, "a", "b")
	for i := range 2500 { // three parts of a list
		w.publish("a", fmt.Sprintf("live/%d", i))
	}
	w.begin("c")
	w.run(time.Second)
	if got := len(w.nodes["c"].d.Holdings("")); got != 2500 {
		t.Errorf("after 1 s it knows %d streams", got)
	}
}

func TestADeadNodeIsForgottenWithinThreeSeconds(t *testing.T) {
	w := quiet(t, Refuse, "a", "b")
	w.publish("a", "live/s")
	w.run(time.Second)
	delete(w.nodes, "a")
	w.run(1500 * time.Millisecond)
	if w.winner("b", "live/s") != "a" {
		t.Error("forgotten after two missed digests")
	}
	w.run(1500 * time.Millisecond)
	if w.winner("b", "live/s") != "" || len(w.nodes["b"].d.peers) > 0 {
		t.Error("it is still known after 3 s")
	}
}

// A node is quiet about a stream while it lives, has that, and says that nothing comes of it.
func TestStreamsThatAreQuiet(t *testing.T) {
	w := quiet(t, Refuse, "a", "b")
	w.publish("a", "live/s")
	w.run(time.Second)
	b := w.nodes["b"]
	is := func(stream, node string) bool { return b.d.Quiet(w.local(b), stream, node, 1300*time.Millisecond) }
	if !is("live/s", "a") || is("live/s", "b") || is("live/s", "c") || is("live/other", "a") {
		t.Error("nothing comes of live/s at a, and of no other")
	}
	for _, bitrate := range []int64{2_000_000, 0} {
		w.nodes["a"].d.SetFigures("live/s", bitrate, 0)
		w.run(6 * time.Second)
		if is("live/s", "a") != (bitrate == 0) {
			t.Errorf("at %d bit/s quiet is %v", bitrate, is("live/s", "a"))
		}
	}
	delete(w.nodes, "a")
	w.run(1500 * time.Millisecond)
	if is("live/s", "a") {
		t.Error("a node that is not heard is quiet")
	}
}

// While nothing can be heard, what is known stays.
func TestNothingIsForgottenWithoutAConnection(t *testing.T) {
	w := quiet(t, Refuse, "a", "b")
	w.publish("a", "live/s")
	w.run(time.Second)
	d, now := w.nodes["b"].d, w.local(w.nodes["b"])
	for range 100 {
		now = now.Add(time.Second)
		d.Tick(now, false)
	}
	if _, ok := d.Winner("live/s"); !ok {
		t.Error("forgotten")
	}
	for at := time.Second; at <= 2*time.Second; at += time.Second / 2 {
		d.Tick(now.Add(at), true)
	}
	if _, ok := d.Winner("live/s"); !ok {
		t.Error("forgotten too soon after the connection is back")
	}
	d.Tick(now.Add(3*time.Second), true)
	if _, ok := d.Winner("live/s"); ok {
		t.Error("still known")
	}
}

func TestANodeThatLeavesIsForgottenAtOnce(t *testing.T) {
	w := quiet(t, Refuse, "a", "b")
	w.publish("a", "live/s")
	w.run(100 * time.Millisecond)
	a := w.nodes["a"]
	late := Message{Kind: Digest, From: "a", Run: a.d.own.run, Version: 9, Count: 1, Sum: 3}
	a.d.Leave()
	w.after("a")
	delete(w.nodes, "a")
	w.run(50 * time.Millisecond)
	b := w.nodes["b"]
	b.d.Receive(w.local(b), late) // overtaken
	if w.winner("b", "live/s") != "" || len(b.d.peers) > 0 {
		t.Error("it is still known")
	}
	w.begin("a") // again
	w.run(200 * time.Millisecond)
	if len(b.d.peers) != 1 {
		t.Error("its next run is not known")
	}
}

func TestPolicies(t *testing.T) {
	w := quiet(t, Refuse, "a", "b")
	w.publish("a", "live/s")
	w.run(50 * time.Millisecond)
	if winner, ok := w.publish("b", "live/s"); ok || winner.Node != "a" {
		t.Errorf("refuse: %v, %v", winner, ok)
	}

	w = quiet(t, Replace, "a", "b")
	w.publish("a", "live/s")
	w.run(50 * time.Millisecond)
	if winner, ok := w.publish("b", "live/s"); !ok || winner.Node != "b" {
		t.Errorf("replace: %v, %v", winner, ok)
	}
	w.run(50 * time.Millisecond)
	if w.winner("a", "live/s") != "b" || len(w.nodes["a"].has) > 0 {
		t.Error("replace: the first does not know that it is replaced")
	}

	w = quiet(t, Standby, "a", "b", "c")
	w.publish("a", "live/s")
	w.run(50 * time.Millisecond)
	for _, name := range []string{"b", "c"} {
		if winner, ok := w.publish(name, "live/s"); !ok || winner.Node != "a" {
			t.Errorf("standby: %v, %v", winner, ok)
		}
		w.run(50 * time.Millisecond)
	}
	for _, next := range []string{"b", "c"} {
		for name, s := range w.nodes {
			if r, _ := s.d.Winner("live/s"); r.Node != next {
				continue
			}
			t.Errorf("%s: %s is the winner too soon", name, next)
		}
		before := w.winner(next, "live/s")
		s := w.nodes[before]
		s.d.Remove("live/s", s.has["live/s"])
		delete(s.has, "live/s")
		w.after(before)
		w.run(300 * time.Millisecond)
		if w.winner("a", "live/s") != next || w.winner("b", "live/s") != next || w.winner("c", "live/s") != next {
			t.Errorf("after %s ended the winner is not %s", before, next)
		}
	}
}

// A node is notified when its own publication wins or loses.
func TestEventsOfOwnPublications(t *testing.T) {
	d := New(Options{Node: "b", Run: 1, Policy: Standby})
	d.Receive(start, Message{Kind: Change, From: "a", Run: 1, Version: 1, Entries: []Entry{{Stream: "live/s", Epoch: 1}}})
	epoch, winner, _ := d.Publish("live/s", "")
	if winner.Node != "a" || epoch != 2 {
		t.Fatalf("epoch %d, the winner is %v", epoch, winner)
	}
	d.Take()
	d.Receive(start, Message{Kind: Change, From: "a", Run: 1, Version: 2, Before: 1, Removed: []string{"live/s"}})
	_, events := d.Take()
	if len(events) != 1 || !events[0].Won || events[0].Epoch != epoch {
		t.Errorf("%+v", events)
	}
	d.Receive(start, Message{Kind: Change, From: "a", Run: 1, Version: 3, Before: 2, Entries: []Entry{{Stream: "live/s", Epoch: 1}}})
	_, events = d.Take()
	if len(events) != 1 || !events[0].Lost || events[0].Winner != (Rank{1, "a"}) {
		t.Errorf("%+v", events)
	}
}

func TestSources(t *testing.T) {
	d := New(Options{Node: "me", Run: 1})
	at := func(name string, e Entry, drains bool) {
		n := Node{URL: "http://" + name, Draining: drains}
		p := d.peers[name]
		version := uint64(0)
		if p != nil {
			version = p.version
		}
		d.Receive(start, Message{Kind: Digest, From: name, Run: 1, Node: &n, Version: version})
		d.Receive(start, Message{Kind: Change, From: name, Run: 1, Before: version, Version: version + 1, Entries: []Entry{e}})
	}
	at("origin", Entry{Stream: "live/s", Epoch: 5}, false)
	at("old", Entry{Stream: "live/s", Epoch: 4, Level: 1, From: "gone"}, false)
	at("mine", Entry{Stream: "live/s", Epoch: 5, Level: 1, From: "me"}, false)
	at("second", Entry{Stream: "live/s", Epoch: 5, Level: 2, From: "x"}, false)
	at("copy", Entry{Stream: "live/s", Epoch: 5, Level: 1, From: "origin"}, false)
	names := func() string {
		var list []string
		for _, s := range d.Sources("live/s") {
			list = append(list, s.Node)
		}
		return strings.Join(list, " ")
	}
	if got := names(); got != "origin copy" {
		t.Errorf("sources are %q", got)
	}
	at("origin", Entry{Stream: "live/s", Epoch: 5}, true)
	if got := names(); got != "copy origin" {
		t.Errorf("with a node that drains they are %q", got)
	}
	at("origin", Entry{Stream: "live/s", Epoch: 5}, false)
	for i := range direct {
		at(fmt.Sprintf("n%02d", i), Entry{Stream: "live/s", Epoch: 5, Level: 1, From: "origin"}, false)
	}
	list := d.Sources("live/s")
	if last := list[len(list)-1]; list[0].Level != 1 || last.Node != "origin" {
		t.Errorf("beyond %d pulls the sources are %v ... %v", direct, list[0], last)
	}
	d.Copy("live/s", 5, 0, "origin") // this node is one of those who pull there
	if d.Sources("live/s")[0].Node != "origin" {
		t.Error("a node that pulls from the publisher's has to leave")
	}
	d.Publish("live/t", "")
	if len(d.Sources("live/t")) > 0 {
		t.Error("a stream of this node has sources")
	}
}

// A node whose source has to pull from another edge would be at a third level: it leaves for a
// source that is not so far, and stays when there is none.
func TestNoNodeStaysAtAThirdLevel(t *testing.T) {
	d := New(Options{Node: "me", Run: 1})
	versions := map[string]uint64{}
	at := func(name string, level int, from string) {
		d.Receive(start, Message{Kind: Digest, From: name, Run: 1, Node: &Node{URL: "http://" + name}, Version: versions[name]})
		d.Receive(start, Message{Kind: Change, From: name, Run: 1, Before: versions[name], Version: versions[name] + 1, Entries: []Entry{{Stream: "live/s", Epoch: 5, Level: level, From: from}}})
		versions[name]++
	}
	at("origin", 0, "")
	at("b", 1, "origin")
	d.Copy("live/s", 5, 1, "b")
	if d.Leaving("live/s") {
		t.Error("a node at the second level leaves its source")
	}
	at("c", 1, "origin")
	at("b", 2, "c")
	if !d.Leaving("live/s") {
		t.Error("a node at a third level stays")
	}
	for _, s := range d.Sources("live/s") {
		if s.Node == "b" {
			t.Error("a node at the second level is a source")
		}
	}
	d.Receive(start, Message{Kind: Gone, From: "origin", Run: 1})
	d.Receive(start, Message{Kind: Gone, From: "c", Run: 1})
	if d.Leaving("live/s") {
		t.Error("a node leaves the only other one that has the stream")
	}
}

// A node that was stopped does not take its own silence for that of the others.
func TestANodeThatStoodStillForgetsNoneAtOnce(t *testing.T) {
	d := New(Options{Node: "a", Run: 5})
	d.Tick(start, true)
	d.Receive(start, Message{Kind: Digest, From: "b", Run: 1, Node: &Node{URL: "http://b"}})
	now := start.Add(10 * time.Second)
	d.Tick(now, true)
	if len(d.Nodes(now)) != 2 {
		t.Error("after ten seconds in which this node did nothing the other one is forgotten")
	}
	for end := now.Add(3 * time.Second); now.Before(end); now = now.Add(100 * time.Millisecond) {
		d.Tick(now, true)
	}
	if len(d.Nodes(now)) != 1 {
		t.Error("three seconds later it is not")
	}
}

func TestComplete(t *testing.T) {
	d := New(Options{Node: "a", Run: 5})
	check := func(what string, want bool) {
		t.Helper()
		if d.Complete() != want {
			t.Errorf("%s: %v", what, !want)
		}
	}
	check("alone", false)
	one := Entry{Stream: "live/s", Epoch: 1}
	d.Receive(start, Message{Kind: Change, From: "b", Run: 1, Version: 1, Entries: []Entry{one}})
	check("a node that has not said what it is", false)
	d.Receive(start, Message{Kind: Digest, From: "b", Run: 1, Version: 3, Count: 2, Sum: 7, Node: &Node{URL: "http://b"}})
	check("its list is not here", false)
	d.Receive(start, Message{Kind: List, From: "b", Run: 1, Version: 3, Parts: 1, Entries: []Entry{one, {Stream: "live/t", Epoch: 2}}})
	check("its list is here", true)
	// A change to a list that is on its way: what comes is older than what was heard of.
	d.Receive(start, Message{Kind: Digest, From: "b", Run: 1, Version: 4, Count: 3, Sum: 8})
	d.Receive(start, Message{Kind: Change, From: "b", Run: 1, Version: 6, Before: 5, Removed: []string{"live/t"}})
	d.Receive(start, Message{Kind: List, From: "b", Run: 1, Version: 5, Parts: 1, Entries: []Entry{one}})
	check("an older list is here", false)
	d.Take()
	d.Tick(start.Add(time.Second), true)
	out, _ := d.Take()
	if !slices.ContainsFunc(out, func(m Message) bool { return m.Kind == Want && m.To == "b" }) {
		t.Errorf("the list is not asked for again: %v", out)
	}
	d.Receive(start, Message{Kind: List, From: "b", Run: 1, Version: 6, Parts: 1, Entries: []Entry{one}})
	check("the newest is", true)
}

func TestProblems(t *testing.T) {
	d := New(Options{Node: "a", Run: 5})
	if p := d.Problems(start); len(p) > 0 {
		t.Error(p)
	}
	d.Receive(start, Message{Kind: Digest, From: "b", Run: 1, Node: &Node{Policy: Replace}})
	d.Receive(start, Message{Kind: Digest, From: "a", Run: 6})
	if p := strings.Join(d.Problems(start), "\n"); !strings.Contains(p, "node b has the takeover policy replace") || !strings.Contains(p, "another node is called a") {
		t.Error(p)
	}
}

// 10,000 streams on 50 nodes: 40 MB and 300 KB/s for each node, when every stream's
// figures change all the time, and 100 publishers come and go each second.
func TestTenThousandStreamsOnFiftyNodes(t *testing.T) {
	const nodes, streams, seconds = 50, 200, 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	one := New(Options{Node: "one", Run: 1})
	bytes := 0
	receive := func(now time.Time, d *Directory, parse bool) {
		out, _ := d.Take()
		for _, m := range out {
			if m.To != "" {
				continue
			}
			body := m.Append(nil)
			bytes += len(body)
			if parse {
				m, err := Parse(body)
				if err != nil {
					t.Fatal(err)
				}
				one.Receive(now, m)
				one.Take()
			}
		}
	}
	var others []*Directory
	for n := range nodes - 1 {
		d := New(Options{Node: fmt.Sprintf("node-%d.example.com", n), Run: 1})
		d.SetNode(start, Node{URL: "http://10.0.0.1:8080"})
		for s := range streams {
			d.Publish(fmt.Sprintf("live/camera-%d-%d", n, s), "10.20.30.40:12345")
		}
		receive(start, d, true)
		others = append(others, d)
	}
	for s := range streams {
		one.Publish(fmt.Sprintf("live/own-%d", s), "10.20.30.40:12345")
	}
	one.Take()
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc) // all lists of the others are in it, too
	t.Logf("%d streams: %.1f MB", len(one.streams), float64(grown)/1e6)
	if len(one.streams) != nodes*streams {
		t.Errorf("it knows %d streams", len(one.streams))
	}
	if grown > 40e6 {
		t.Errorf("%d bytes for %d streams", grown, len(one.streams))
	}
	bytes = 0
	for second := range seconds {
		for n, d := range others {
			for step := range 4 {
				now := start.Add(time.Duration(second)*time.Second + time.Duration(step)*250*time.Millisecond)
				d.Tick(now, true)
				if step == 0 {
					for s := range streams {
						d.SetFigures(fmt.Sprintf("live/camera-%d-%d", n, s), int64(1+second%2)*2_000_000, 10*(second%2))
					}
				}
			}
			for s := range 2 {
				name := fmt.Sprintf("live/camera-%d-%d", n, (2*second+s)%streams)
				if e := d.own.entries[name]; e != nil {
					d.Remove(name, e.Epoch)
				}
				d.Publish(name, "10.20.30.40:12345")
			}
			receive(start, d, second == 0)
		}
	}
	rate := float64(bytes) / seconds
	t.Logf("%.0f KB/s", rate/1e3)
	if rate > 300e3 {
		t.Errorf("a node receives %.0f bytes a second", rate)
	}
}

// A node that leaves, and comes back with its clock behind, is known when a node that says
// nothing would be forgotten; late messages of the earlier run are not heard then either.
func TestANodeThatLeavesComesBackWithAnEarlierRun(t *testing.T) {
	d := New(Options{Node: "me", Run: 1})
	d.Receive(start, Message{Kind: Digest, From: "a", Run: 9})
	d.Receive(start, Message{Kind: Gone, From: "a", Run: 9})
	d.Receive(start.Add(time.Second), Message{Kind: Digest, From: "a", Run: 8})
	if len(d.peers) > 0 {
		t.Error("an earlier run is heard at once")
	}
	later := start.Add(d.options.Silence)
	d.Receive(later, Message{Kind: Digest, From: "a", Run: 9})
	if len(d.peers) > 0 {
		t.Error("the run that has left is heard")
	}
	d.Receive(later, Message{Kind: Digest, From: "a", Run: 8})
	if len(d.peers) != 1 {
		t.Error("its next run is not known")
	}
}

func TestHostileMessages(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for _, text := range []string{
		"", "null", "{}", "[]", "{", `{"k":"digest"}`, `{"k":"no","f":"a"}`, `{"k":"digest","f":"` + long + `"}`,
		`{"k":"change","f":"a","e":[{"s":""}]}`, `{"k":"change","f":"a","e":[{"s":"x","l":3}]}`, `{"k":"change","f":"a","e":[{"s":"x","l":-1}]}`,
		`{"k":"change","f":"a","e":[{"s":"x","e":18446744073709551615}]}`, `{"k":"digest","f":"a","c":9223372036854775807}`,
		`{"k":"digest","f":"a\u001b[2J"}`, `{"k":"digest","f":"a","o":{"w":"\u0007"}}`, `{"k":"digest","f":"a","o":{"u":"http://a\n"}}`,
		`{"k":"digest","f":"a","o":{"w":"` + long + `"}}`, `{"k":"digest","f":"a","o":{"p":"` + long + `"}}`, `{"k":"change","f":"a","d":["` + long + `"]}`,
		`{"k":"change","f":"a","e":[{"s":"live/\u0000"}]}`, `{"k":"change","f":"a","e":[{"s":"live/s","p":"\u009b2J"}]}`,
		`{"k":"list","f":"a","p":-1,"q":1}`, `{"k":"list","f":"a","p":0,"q":100000}`, `{"k":"digest","f":"a","o":{"u":"` + long + `"}}`,
		`{"k":"change","f":"a","e":[` + strings.Repeat(`{"s":"x"},`, partSize) + `{"s":"x"}]}`,
	} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrMessage) {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

func FuzzReceive(f *testing.F) {
	for _, m := range []Message{
		{Kind: Digest, From: "a", Run: 1, Version: 1, Count: 1, Sum: 1, Node: &Node{URL: "http://a"}},
		{Kind: Change, From: "a", Run: 1, Version: 1, Entries: []Entry{{Stream: "live/s", Epoch: 3}}},
		{Kind: List, From: "a", Run: 1, Version: 1, Parts: 2, Entries: []Entry{{Stream: "live/s", Level: 1, From: "me"}}},
		{Kind: Want, From: "a", Run: 1}, {Kind: Gone, From: "a", Run: 1},
	} {
		f.Add(m.Append(nil), m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		d := New(Options{Node: "me", Run: 1, Policy: Standby})
		d.Publish("live/s", "")
		for _, p := range [][]byte{one, two, one} {
			m, err := Parse(p)
			if err != nil {
				continue
			}
			d.Receive(start, m)
			again, err := Parse(m.Append(nil))
			if err != nil {
				t.Fatalf("%s: %v", m.Append(nil), err)
			}
			if string(again.Append(nil)) != string(m.Append(nil)) {
				t.Errorf("%s became %s", m.Append(nil), again.Append(nil))
			}
		}
		d.Sources("live/s")
		d.Tick(start.Add(time.Hour), true)
		if len(d.peers) > 0 || len(d.Holdings("")) != 1 {
			t.Error("not all is forgotten")
		}
	})
}

// The publication that viewers get is that of the winner once this has begun; until then
// nodes pull from the other. A node that drains gives way.
// A node has the highest clock that is taken. What others publish afterwards is known to all.
func TestTheHighestClockStopsNone(t *testing.T) {
	w := quiet(t, Refuse, "a", "b")
	for _, name := range []string{"a", "b"} {
		d := w.nodes[name].d
		d.Receive(w.now, Message{Kind: Digest, From: "x", Run: 1, Clock: maxEpoch})
		d.Receive(w.now, Message{Kind: Change, From: "x", Run: 1, Version: 1, Entries: []Entry{{Stream: "live/x", Epoch: maxEpoch}}})
	}
	w.publish("a", "live/s")
	w.run(time.Second)
	if got := w.winner("b", "live/s"); got != "a" {
		t.Errorf("b knows %q as the publisher", got)
	}
}

func TestStandbyGivesWay(t *testing.T) {
	w := quiet(t, Standby, "a", "b", "c")
	a, b, c := w.nodes["a"], w.nodes["b"], w.nodes["c"]
	held := func(s *site, want bool) {
		t.Helper()
		if _, held, ok := s.d.Held("live/s"); held != want || !ok {
			t.Errorf("held: %v, %v; want %v", held, ok, want)
		}
	}
	source := func(want string) {
		t.Helper()
		if list := c.d.Sources("live/s"); len(list) == 0 || list[0].Node != want {
			t.Errorf("sources %v, want %s", list, want)
		}
	}
	ea, _, _ := a.d.Publish("live/s", "p")
	w.after("a")
	w.run(time.Second)
	b.d.Publish("live/s", "q")
	w.after("b")
	w.run(time.Second)
	held(a, false)
	held(b, true)
	source("a")

	// A silent publisher goes behind the one that waits, and stays until that begins.
	w.slow = true
	next, ok := a.d.Yield("live/s", ea)
	w.after("a")
	w.run(time.Second)
	if !ok || next <= ea {
		t.Error(next, ok)
	}
	held(a, false)
	held(b, false)
	source("a")
	begin := func(name string) {
		s := w.nodes[name]
		epoch, _, _ := s.d.Held("live/s")
		s.d.SetActive("live/s", epoch, true)
		w.after(name)
		w.run(time.Second)
	}
	begin("b")
	held(a, true)
	source("b")
	a.d.SetActive("live/s", next, false)
	w.after("a")
	w.run(time.Second)

	epoch, _, _ := b.d.Held("live/s")
	c.d.Copy("live/s", epoch, 0, "b")
	w.after("c")
	w.run(time.Second)
	if n := b.d.Needed(); n != 1 { // for the other publication to begin, in case b goes
		t.Errorf("b is needed for %d streams", n)
	}
	b.d.SetNode(w.now, Node{URL: "http://b", Draining: true})
	w.after("b")
	w.run(time.Second)
	if c.d.Leaving("live/s") {
		t.Error("c leaves the only node that has the stream")
	}
	held(a, false)
	held(b, false)
	source("b")
	begin("a")
	held(b, true)
	source("a")
	if n := b.d.Needed(); n != 1 || !c.d.Leaving("live/s") { // c pulls still
		t.Errorf("b is needed for %d streams; c leaves it: %v", n, c.d.Leaving("live/s"))
	}
	c.d.Copy("live/s", next, 0, "a")
	w.after("c")
	w.run(time.Second)
	if n := b.d.Needed(); n != 0 || c.d.Leaving("live/s") {
		t.Errorf("b is needed for %d streams; c leaves it: %v", n, c.d.Leaving("live/s"))
	}
	if _, ok := a.d.Yield("live/s", next); ok {
		t.Error("it gives way to a node that drains")
	}
}

// A part of a list fits into a message of NATS, 1 MB, whatever the streams' names are.
func TestLongestPartOfAList(t *testing.T) {
	m := Message{Kind: List, From: strings.Repeat("n", 64), Run: math.MaxUint64, Clock: maxEpoch, Version: math.MaxUint64, Parts: maxParts}
	for i := range partSize {
		m.Entries = append(m.Entries, Entry{
			Stream: fmt.Sprintf("%s%03d", strings.Repeat("&", 197), i), Epoch: maxEpoch, Level: maxLevel, From: strings.Repeat("n", 64), Publisher: strings.Repeat("p", 64), Bitrate: math.MaxInt64, Viewers: math.MaxInt32, Waiting: true,
		})
	}
	text := m.Append(nil)
	if len(text) > 1<<20-1000 {
		t.Errorf("%d bytes", len(text))
	}
	if got, err := Parse(text); err != nil || got.Entries[999].Stream != m.Entries[999].Stream {
		t.Error(err)
	}
}
