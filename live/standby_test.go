package live

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// pictures are the sizes of the pictures that a viewer gets, and checks that times rise.
func pictures(t *testing.T, tags []tag) (sizes []int) {
	t.Helper()
	last := int32(-1)
	for _, g := range tags {
		if g.typ != flv.TagVideo || g.body[1] == 0 {
			continue
		}
		if int32(g.time) <= last {
			t.Errorf("a picture of %d bytes is at %d, after one at %d", len(g.body)-5, g.time, last)
		}
		last = int32(g.time)
		sizes = append(sizes, len(g.body)-5)
	}
	return sizes
}

// standbyPair is a stream with a publisher, one that waits, and a viewer.
func standbyPair(t *testing.T, o StreamOptions) (h *Hub, first, second *Publisher, viewer func() []tag) {
	o.Ahead = time.Hour
	h = NewHub(HubOptions{Stream: o})
	first = mustPublish(t, h, "s", PublishOptions{Name: "first", Standby: true, Epoch: 7})
	second = mustPublish(t, h, "s", PublishOptions{Name: "second", Standby: true, Epoch: 7})
	if st := first.Stream(); st.Publisher() != first || len(st.Waiting()) != 1 || st.Waiting()[0] != second {
		t.Fatalf("%v publishes, %v waits", st.Publisher(), st.Waiting())
	}
	conn, client := pair(t)
	add(t, newWriter(t, WriterOptions{}), conn, first.Stream(), ViewerOptions{FromStart: true})
	return h, first, second, func() []tag {
		h.Close()
		return fileTags(t, client)
	}
}

// A publisher that waits begins at its next key frame when the other has ended, also
// without a grace period. Its headers come first when they are others.
func TestStandbyTakesOverAtItsKeyFrame(t *testing.T) {
	for _, grace := range []time.Duration{0, time.Hour} {
		_, first, second, viewer := standbyPair(t, StreamOptions{Grace: grace})
		send(t, first, videoConfig(0, 1), video(0, true, 100))
		send(t, second, videoConfig(5000, 2), video(5000, true, 200), video(5040, false, 201))
		send(t, first, video(40, false, 101))
		waitForPlaces(t, first.Stream())
		first.Close()
		send(t, second, video(5080, false, 202), video(5120, true, 203), video(5160, false, 204))
		if st := second.Stream(); st.Publisher() != second || len(st.Waiting()) != 0 {
			t.Errorf("%v publishes, %v waits", st.Publisher(), st.Waiting())
		}
		tags := viewer()
		if got, want := pictures(t, tags), []int{100, 101, 203, 204}; !slices.Equal(got, want) {
			t.Errorf("pictures %v, not %v", got, want)
		}
		if !slices.ContainsFunc(tags, func(g tag) bool { return g.typ == flv.TagVideo && g.body[1] == 0 && g.body[5] == 2 }) {
			t.Error("the header of the second does not come")
		}
	}
}

// What came since a key frame that is newer than all of the other repeats nothing: it is
// sent at once.
func TestStandbyGoesOnWithItsGroup(t *testing.T) {
	_, first, second, viewer := standbyPair(t, StreamOptions{})
	send(t, first, video(0, true, 100))
	waitForPlaces(t, first.Stream())
	send(t, second, video(0, true, 200), video(40, false, 201))
	first.Close()
	send(t, second, video(80, false, 202))
	if got, want := pictures(t, viewer()), []int{100, 200, 201, 202}; !slices.Equal(got, want) {
		t.Errorf("pictures %v, not %v", got, want)
	}
}

// A publisher that is silent for too long waits from then on, and comes back.
func TestStandbyTakesOverFromASilentPublisher(t *testing.T) {
	const silence = time.Hour
	_, first, second, viewer := standbyPair(t, StreamOptions{Silence: silence})
	var states []bool // whether the first publishes
	first.active = func(on bool) { states = append(states, on) }
	send(t, first, video(0, true, 100))
	waitForPlaces(t, first.Stream())
	send(t, second, video(0, true, 199))
	st := first.Stream()
	st.mu.Lock()
	st.standbys.fresh -= int64(silence) // as if that had been so long ago
	st.mu.Unlock()
	if d := st.Silent(); d <= silence {
		t.Fatalf("silent for %v", d)
	}
	send(t, second, video(40, true, 200))
	if st.Publisher() != second {
		t.Error("a silent publisher keeps its place")
	}
	send(t, first, video(40, true, 101), video(80, false, 102))
	if w := first.Stream().Waiting(); len(w) != 1 || w[0] != first || first.Err() != nil {
		t.Errorf("%v waits; the first ended with %v", w, first.Err())
	}
	second.Close()
	send(t, first, video(120, true, 103))
	if got, want := pictures(t, viewer()), []int{100, 200, 103}; !slices.Equal(got, want) {
		t.Errorf("pictures %v, not %v", got, want)
	}
	if !slices.Equal(states, []bool{false, true}) {
		t.Errorf("the first was active: %v", states)
	}
}

// While the place is held for another server, its frames are sent, and give way at the
// next key frame when it is not held any more. Marks go on counting.
func TestStandbyHeld(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{Ahead: time.Hour, Marks: true}})
	var states []bool
	p := mustPublish(t, h, "s", PublishOptions{Standby: true, Held: true, Epoch: 7, Active: func(on bool) { states = append(states, on) }})
	st := p.Stream()
	send(t, p, video(0, true, 100))
	if st.Publisher() != nil {
		t.Fatal("one that is held publishes")
	}
	pull := mustPublish(t, h, "s", PublishOptions{Yields: true})
	remote := func(epoch, n uint64, at uint32, key bool) {
		f := video(at, key, 300).frame()
		f.Mark = Mark{epoch, n, at}
		if err := pull.Publish(f); err != nil {
			t.Fatal(err)
		}
	}
	remote(3, 1, 0, true)
	st.Hold(false)
	remote(3, 2, 40, false)
	send(t, p, video(40, false, 101))
	if st.Publisher() != pull {
		t.Error("it begins before a key frame")
	}
	send(t, p, video(80, true, 102), video(120, false, 103))
	if m := st.Newest(); m.Epoch != 7 || m.Number != 2 || st.Publisher() != p || pull.Err() != ErrTakenOver {
		t.Errorf("mark %v of %v; the pull ended with %v", m, st.Publisher(), pull.Err())
	}
	st.Hold(true)
	send(t, p, video(160, true, 104))
	if st.Publisher() != nil || p.Err() != nil {
		t.Error("it goes on while it is held")
	}
	st.Hold(false)
	send(t, p, video(200, true, 105))
	if m := st.Newest(); m.Number != 3 || !slices.Equal(states, []bool{true, false, true}) {
		t.Errorf("mark %v, states %v", m, states)
	}
	st.Renumber(9)
	send(t, p, video(240, true, 106))
	if m := st.Newest(); m.Epoch != 9 || m.Number != 1 {
		t.Errorf("mark %v", m)
	}
	h.Close()
}

// A stream ends with the last of its publishers, also when that one waits, and nothing
// is kept of them.
func TestStandbyEnds(t *testing.T) {
	a := mem.New(mem.Options{})
	h := NewHub(HubOptions{Stream: StreamOptions{Allocator: a, Ahead: time.Hour, GOPFrames: 16}})
	first := mustPublish(t, h, "s", PublishOptions{Standby: true})
	others := []*Publisher{mustPublish(t, h, "s", PublishOptions{Standby: true}), mustPublish(t, h, "s", PublishOptions{Standby: true})}
	for i := range 50 { // more than is kept
		for _, p := range append(others, first) {
			b := a.Get(5000)
			copy(b.Bytes(), []byte{0x27, 1, 0})
			if i == 0 || i == 40 {
				b.Bytes()[0] = 0x17
			}
			if err := p.Publish(Frame{Type: flv.TagVideo, Time: uint32(40 * i), Payload: b}); err != nil {
				t.Fatal(err)
			}
		}
	}
	others[0].Close()
	first.Close()
	if _, ok := h.Stream("s"); !ok {
		t.Error("the stream has ended while a publisher waits")
	}
	others[1].Close()
	if _, ok := h.Stream("s"); ok {
		t.Error("the stream goes on")
	}
	if n := a.Stats().OutBytes; n != 0 {
		t.Errorf("%d bytes are in use", n)
	}
}

// A stream that is to end ends before its next key frame.
func TestEndAtKey(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{Ahead: time.Hour, Grace: time.Hour}})
	p := mustPublish(t, h, "s", PublishOptions{})
	send(t, p, video(0, true, 100))
	conn, client := pair(t)
	add(t, newWriter(t, WriterOptions{}), conn, p.Stream(), ViewerOptions{FromStart: true})
	waitForPlaces(t, p.Stream())
	p.Stream().EndAtKey()
	send(t, p, video(40, false, 101), video(80, false, 102))
	if err := p.Publish(video(120, true, 103).frame()); err != ErrClosed {
		t.Errorf("the key frame: %v", err)
	}
	if got, want := pictures(t, fileTags(t, client)), []int{100, 101, 102}; !slices.Equal(got, want) {
		t.Errorf("pictures %v, not %v", got, want)
	}
	q := mustPublish(t, h, "s", PublishOptions{})
	q.Close()
	q.Stream().EndAtKey()
	if len(h.Streams()) > 0 {
		t.Error("a stream without publisher and viewers goes on")
	}
}

// A publisher that sends data alone takes over with its next message, as one of audio alone does.
func TestStandbyOfDataAlone(t *testing.T) {
	_, first, second, viewer := standbyPair(t, StreamOptions{Grace: time.Hour})
	st := first.Stream()
	send(t, first, data(0, 10))
	send(t, second, data(9000, 50)) // media may follow
	waitForPlaces(t, st)
	first.Close()
	send(t, second, data(9010, 51))
	if st.Publisher() != nil {
		t.Error("data that media may follow at once begins a stream")
	}
	st.mu.Lock()
	second.warm.began -= int64(2 * aloneAfter)
	st.mu.Unlock()
	send(t, second, data(9020, 52), data(9030, 53))
	if st.Publisher() != second {
		t.Fatal("the standby does not take over")
	}
	var sizes []int
	for _, g := range viewer() {
		if g.typ == flv.TagScript {
			sizes = append(sizes, len(g.body)-9)
		}
	}
	if want := []int{10, 52, 53}; !slices.Equal(sizes, want) {
		t.Errorf("messages of %v bytes, want %v", sizes, want)
	}
}

// What is kept of publishers that wait is a part of the hub's memory, and shrinks with it.
func TestStandbysStayWithinTheHubsMemory(t *testing.T) {
	const most, frame = 4 << 20, 32 << 10
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	h := NewHub(HubOptions{Memory: most, Stream: StreamOptions{Allocator: alloc}})
	first := mustPublish(t, h, "s", PublishOptions{Standby: true})
	second := mustPublish(t, h, "s", PublishOptions{Standby: true})
	before := h.Held()
	send(t, second, video(0, true, frame))
	if held := h.Held() - before; held < frame {
		t.Errorf("a frame of %d bytes that waits counts %d", frame, held)
	}
	var others []*Publisher
	for range 4 {
		others = append(others, mustPublish(t, h, "s", PublishOptions{Standby: true}))
	}
	for at := range uint32(400) {
		for _, p := range append(others, first, second) {
			send(t, p, video(40+at*40, at%200 == 0, frame))
		}
		if held := h.Held(); held > most+6*2*fullSegment {
			t.Fatalf("after %d frames %d bytes are held, at most %d", at, held, most)
		}
	}
	send(t, second, video(20000, true, frame))
	if second.warm.held < frame {
		t.Error("nothing is kept of a publisher that waits")
	}
	h.Close()
	if held := h.Held(); held != 0 {
		t.Errorf("%d bytes are held by no stream", held)
	}
}

// What is kept of a publisher that waits counts with the blocks that it keeps, each once.
func TestStandbyCountsTheBlocksThatItKeeps(t *testing.T) {
	const size = 256 << 10
	alloc := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, alloc)
	h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc}})
	defer h.Close()
	first := mustPublish(t, h, "s", PublishOptions{Standby: true})
	second := mustPublish(t, h, "s", PublishOptions{Standby: true})
	send(t, first, video(0, true, 100))
	for block := range uint32(4) {
		slab := alloc.Slab(size)
		for i := range uint32(3) {
			g := video(block*120+i*40, block == 0 && i == 0, 1000)
			b := slab.Cut(int(i)*2000, len(g.body))
			copy(b.Bytes(), g.body)
			if err := second.Publish(Frame{Type: g.typ, Time: g.time, Payload: b}); err != nil {
				t.Fatal(err)
			}
		}
		slab.Release()
		if held := second.warm.held; held != int64(block+1)*size {
			t.Errorf("%d bytes are charged for %d blocks of %d", held, block+1, size)
		}
	}
}
