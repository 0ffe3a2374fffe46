package pull

import (
	"errors"
	"net/url"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/directory"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// announced are Nodes that remember what was announced.
type announced struct{ copies []directory.Source }

func (*announced) Sources(string) []directory.Source { return nil }
func (*announced) Grant(string, string) url.Values   { return nil }
func (*announced) NoCopy(string)                     {}
func (*announced) Quiet(string, string) bool         { return false }
func (*announced) Failed(string, error)              {}
func (a *announced) Copy(_ string, epoch uint64, level int, from string) {
	a.copies = append(a.copies, directory.Source{Epoch: epoch, Level: level, Node: from})
}

// A stream that comes from one node after the other has each frame once, at the time of its publisher, and a
// header only when it says something else.
func TestWhatComesFromSeveralNodesComesOnce(t *testing.T) {
	alloc := mem.New(mem.Options{Name: t.Name(), Leak: mem.LeakTrace})
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	p, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Stream().NewReader(live.ReaderOptions{FromStart: true})
	if err != nil {
		t.Fatal(err)
	}
	nodes := &announced{}
	h := &hopped{pulled: pulled{publisher: p, client: new(session.Client)}, cluster: &cluster{nodes: nodes}, stream: "live/s", from: directory.Source{Node: "a", Level: 1}}
	put := func(typ flv.TagType, at uint32, mark live.Mark, text string) {
		t.Helper()
		b := alloc.Get(len(text))
		copy(b.Bytes(), text)
		if err := h.Publish(live.Frame{Type: typ, Time: at, Mark: mark, Payload: b}); err != nil {
			t.Fatal(err)
		}
	}
	const video, sound, key, delta = "\x17\x00\x00\x00\x00header", "\xaf\x00\x12\x10", "\x17\x01\x00\x00\x00key", "\x27\x01\x00\x00\x00delta"
	mark := func(epoch, number uint64, at uint32) live.Mark {
		return live.Mark{Epoch: epoch, Number: number, Time: at}
	}
	for range 2 { // two nodes have the same
		put(flv.TagVideo, 7, live.Mark{}, video)
		put(flv.TagAudio, 7, live.Mark{}, sound)
		put(flv.TagVideo, 7, mark(5, 1, 1000), key)
		put(flv.TagVideo, 47, mark(5, 2, 1040), delta)
	}
	put(flv.TagAudio, 8, live.Mark{}, "\xaf\x00\x11\x90")
	put(flv.TagVideo, 8, mark(5, 3, 1080), delta)
	if want := []directory.Source{{Epoch: 5, Level: 1, Node: "a"}}; !slices.Equal(nodes.copies, want) {
		t.Errorf("announced: %+v", nodes.copies)
	}
	put(flv.TagVideo, 0, mark(6, 1, 0), key) // the publisher has begun again
	if h.After() != mark(6, 1, 0) || len(nodes.copies) != 2 || nodes.copies[1].Epoch != 6 {
		t.Errorf("the latest is %+v, announced: %+v", h.After(), nodes.copies)
	}
	// Headers without frames do not pile up, and what is not published is released.
	for range 3 * maxHeaders {
		put(flv.TagVideo, 9, live.Mark{}, video)
	}
	if len(h.headers) > maxHeaders {
		t.Errorf("%d headers wait", len(h.headers))
	}
	put(flv.TagVideo, 9, live.Mark{}, "\x17\x00\x00\x00\x00other")
	p.Close()
	b := alloc.Get(1)
	if err := h.Publish(live.Frame{Type: flv.TagVideo, Mark: mark(6, 2, 40), Payload: b}); !errors.Is(err, live.ErrClosed) {
		t.Errorf("the stream is over: %v", err)
	}
	h.dropHeaders()
	var file []byte
	for {
		tags, _, err := r.Next(t.Context())
		if err != nil {
			break
		}
		file = append(file, tags...)
	}
	r.Close()
	got := flvtest.Tags(t, file)
	want := []flvtest.Tag{
		{Type: flv.TagVideo, Time: 1000, Payload: video}, {Type: flv.TagAudio, Time: 1000, Payload: sound},
		{Type: flv.TagVideo, Time: 1000, Payload: key}, {Type: flv.TagVideo, Time: 1040, Payload: delta},
		{Type: flv.TagAudio, Time: 1080, Payload: "\xaf\x00\x11\x90"}, {Type: flv.TagVideo, Time: 1080, Payload: delta},
	}
	if len(got) != len(want)+1 || !slices.Equal(got[:len(want)], want) || got[len(want)].Payload != key || got[len(want)].Time < 1080 {
		t.Errorf("%+v\nwant %+v and a key frame behind", got, want)
	}
	hub.Close()
	for _, l := range alloc.Leaks() {
		t.Errorf("%d bytes were not released; taken at\n%s", l.Size, l.Stack)
	}
}
