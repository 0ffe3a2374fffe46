package live

import (
	"io"
	"net/http/httputil"
	"slices"
	"testing"
)

// hopTags reads what a FormHop viewer is sent until its end: the tags, and before
// each of those that have one its mark.
func hopTags(t testing.TB, r io.Reader) (tags []tag, marks []Mark) {
	t.Helper()
	p, err := io.ReadAll(httputil.NewChunkedReader(r))
	if err != nil {
		t.Fatal(err)
	}
	all, rest := readTags(p[13:])
	if len(rest) > 0 {
		t.Fatalf("%d bytes are no tag", len(rest))
	}
	var next Mark
	for _, g := range all {
		m, ok, err := ParseMark(g.body)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			next = m
			continue
		}
		tags, marks = append(tags, g), append(marks, next)
		next = Mark{}
	}
	return tags, marks
}

const chunkedEnd = "\r\n0\r\n\r\n"

func markedHub() *Hub { return NewHub(HubOptions{Stream: StreamOptions{Marks: true}}) }

// hop publishes tags in a stream, and reads it as a FormHop viewer does.
func hop(t *testing.T, h *Hub, after Mark, publish func(p *Publisher)) ([]tag, []Mark) {
	t.Helper()
	p := mustPublish(t, h, "live/s", PublishOptions{Epoch: 7})
	server, client := pair(t)
	w := newWriter(t, WriterOptions{})
	publish(p)
	add(t, w, server, p.Stream(), ViewerOptions{Form: FormHop, After: after, Trailer: []byte(chunkedEnd)})
	waitForPlaces(t, p.Stream())
	p.Close()
	return hopTags(t, client)
}

func TestHopHasMarks(t *testing.T) {
	frames := []tag{videoConfig(0, 1), video(0, true, 100), audio(10, 20), video(40, false, 50_000), video(80, true, 10), audio(90, 5)}
	tags, marks := hop(t, markedHub(), Mark{}, func(p *Publisher) { send(t, p, frames...) })
	// The sequence header again, then from the newest key frame on.
	if len(tags) != 3 || !tags[1].equal(frames[4]) || !tags[2].equal(frames[5]) {
		t.Fatalf("%d tags: %v", len(tags), marks)
	}
	if want := []Mark{{}, {7, 5, 80}, {7, 6, 90}}; !slices.Equal(marks, want) {
		t.Errorf("marks %v, want %v", marks, want)
	}
}

// A server that has lost its source goes on with the next frame, whichever the
// source has of it.
func TestHopGoesOnBehindAMark(t *testing.T) {
	frames := []tag{video(0, true, 100), video(40, false, 10), video(80, false, 10), video(120, true, 10), video(160, false, 10)}
	for _, c := range []struct {
		after Mark
		want  []uint64
	}{
		{Mark{Epoch: 7, Number: 1}, []uint64{2, 3, 4, 5}},
		{Mark{Epoch: 7, Number: 4}, []uint64{5}},
		{Mark{Epoch: 7, Number: 5}, nil},
		{Mark{Epoch: 7, Number: 50}, nil},           // the source is behind
		{Mark{Epoch: 6, Number: 2}, []uint64{4, 5}}, // another publication
		{Mark{}, []uint64{4, 5}},
	} {
		_, marks := hop(t, markedHub(), c.after, func(p *Publisher) { send(t, p, frames...) })
		var got []uint64
		for _, m := range marks {
			if m.Number > 0 {
				got = append(got, m.Number)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("after %v: frames %v, want %v", c.after, got, c.want)
		}
	}
}

// Marks are kept on the way, whatever the times are, while the ring grows.
func TestMarksArePassedOn(t *testing.T) {
	h := markedHub()
	p := mustPublish(t, h, "live/s", PublishOptions{})
	server, client := pair(t)
	w := newWriter(t, WriterOptions{})
	add(t, w, server, p.Stream(), ViewerOptions{Form: FormHop, FromStart: true, Trailer: []byte(chunkedEnd)})
	var want []Mark
	for i := range 100 {
		g := video(uint32(40*i), i%10 == 0, 10)
		f := g.frame()
		f.Mark = Mark{9, uint64(1000 + i), f.Time + 5}
		want = append(want, f.Mark)
		if err := p.Publish(f); err != nil {
			t.Fatal(err)
		}
	}
	waitForPlaces(t, p.Stream())
	p.Close()
	_, marks := hopTags(t, client)
	if !slices.Equal(marks, want[len(want)-len(marks):]) || len(marks) < 10 {
		t.Errorf("%d marks: %v", len(marks), marks)
	}
}

// A stream without marks keeps none, and its frames have none.
func TestNoMarksUnlessAsked(t *testing.T) {
	tags, marks := hop(t, NewHub(HubOptions{}), Mark{Epoch: 7, Number: 1}, func(p *Publisher) {
		send(t, p, video(0, true, 10), video(40, false, 10))
		if p.s.ring.marks != nil {
			t.Error("marks are kept")
		}
	})
	if len(tags) != 2 || !slices.Equal(marks, make([]Mark, 2)) {
		t.Errorf("%d tags, marks %v", len(tags), marks)
	}
}

func TestParseMark(t *testing.T) {
	m := Mark{1 << 60, 1 << 50, 1<<32 - 1}
	tags, _ := readTags(appendMark(nil, m, 5))
	if len(tags) != 1 || tags[0].time != 5 {
		t.Fatal(tags)
	}
	if got, ok, err := ParseMark(tags[0].body); got != m || !ok || err != nil {
		t.Error(got, ok, err)
	}
	for _, p := range []string{"", "\x02\x00\x0asluiceMark", "\x02\x00\x0aonMetaData\x02\x00\x01x"} {
		if _, ok, err := ParseMark([]byte(p)); ok || err != nil {
			t.Errorf("%q: %v, %v", p, ok, err)
		}
	}
	for _, text := range []string{"", "1", "0 1 1", "1 0 1", "-1 1 1", "1 1 4294967296", "x y z"} {
		p := append([]byte("\x02\x00\x0asluiceMark\x02\x00"), byte(len(text)))
		if _, ok, err := ParseMark(append(p, text...)); !ok || err == nil {
			t.Errorf("%q: %v, %v", text, ok, err)
		}
	}
}

func FuzzParseMark(f *testing.F) {
	f.Add([]byte("\x02\x00\x0asluiceMark\x02\x00\x051 2 3"))
	f.Fuzz(func(t *testing.T, p []byte) {
		m, ok, err := ParseMark(p)
		if !ok || err != nil {
			return
		}
		tags, _ := readTags(appendMark(nil, m, 0))
		if again, ok, err := ParseMark(tags[0].body); again != m || !ok || err != nil {
			t.Errorf("%v became %v, %v, %v", m, again, ok, err)
		}
	})
}
