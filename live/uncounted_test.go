package live

import (
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// A publisher of 64 tracks that changes a sequence header with each frame of a few bytes: each frame in the ring keeps
// a set of headers of 2 KB, which counted for no limit.
func TestSetsOfHeadersCount(t *testing.T) {
	const most = 2 << 20
	h := NewHub(HubOptions{Memory: most})
	defer h.Close()
	var streams []*Stream
	for i := range 4 {
		p := mustPublish(t, h, fmt.Sprint(i), PublishOptions{})
		streams = append(streams, p.Stream())
		for n := range 3000 {
			b := append([]byte("\x96\x00avc1"), byte(n%maxHeaders), byte(n), byte(n>>8))
			if err := p.Publish(Frame{Type: flv.TagVideo, Payload: mem.Wrap(b, nil)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := func() (n int) {
		for _, s := range streams {
			sets := map[*headers]bool{}
			for i := range s.ring.records {
				if set := s.ring.records[i].set; set != nil && !sets[set] {
					sets[set] = true
					n += len(set.list) * headerSize
				}
			}
		}
		return n
	}
	// And a ring's blocks are above its part by one of each kind.
	if n := kept(); n > most*5/4 {
		t.Errorf("sets of headers take %d bytes, all that rings hold at most %d", n, most)
	}
	h.Close()
	if n, held := kept(), h.Held(); n != 0 || held != 0 {
		t.Errorf("at the end sets take %d bytes, and rings hold %d", n, held)
	}
}

// Viewers choose their merge time, and each such group of a stream kept half a megabyte of lists after frames of
// a few bytes had come in a burst.
func TestGroupsKeepNoMemoryOfABurst(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	l := newHandLoop(t)
	const groups = 80
	for i := range groups {
		l.view(p.Stream(), ViewerOptions{FromStart: true, Form: FormRTMP, Merge: time.Duration(i) * time.Millisecond})
	}
	send(t, p, video(0, true, 1))
	l.round(time.Second)
	l.round(time.Second)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for range 4000 {
		send(t, p, video(0, false, 1))
	}
	l.round(time.Second)
	l.round(time.Second)
	for _, v := range l.viewers {
		if v.figures.frames.Load() != 4001 {
			t.Fatalf("a viewer was sent %d frames, and is in state %d", v.figures.frames.Load(), v.state)
		}
	}
	if grown := heap() - before; grown > groups*200<<10 {
		t.Errorf("%d groups keep %d bytes", groups, grown)
	}
}

// Viewers who read nothing are greeted with all headers that a stream may have, of 32 KB at the most each: what
// each keeps of it is no copy.
func TestGreetingsAreNotCopied(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	var want []tag
	tell := func(typ flv.TagType, head string, n int) {
		g := tag{typ, 0, append([]byte(head), make([]byte, n)...)}
		for i := range n {
			g.body[len(head)+i] = byte(i >> 8)
		}
		want = append(want, g)
		send(t, p, g)
	}
	tell(flv.TagScript, "\x02\x00\x0aonMetaData", 250<<10)
	for track := range 7 {
		tell(flv.TagVideo, "\x96\x00avc1"+string(rune(track)), 31<<10)
	}
	want = append(want, video(0, true, 10))
	send(t, p, want[len(want)-1])
	l := newHandLoop(t)
	for _, form := range []Form{FormFLV, FormRTMP, FormWebSocket, FormChunked} {
		v, _ := l.view(p.Stream(), ViewerOptions{Form: form, Trailer: trailerOf(form)})
		if v.cursor.tail == nil {
			t.Fatalf("%v: the viewer has nothing or everything", form)
		}
		n := 0
		for i, part := range v.cursor.tail.parts {
			if v.cursor.tail.bufs[i] == (mem.Buf{}) {
				n += len(part)
			}
		}
		if n > 64<<10 {
			t.Errorf("%v: it keeps %d bytes of its own", form, n)
		}
	}
	w := newWriter(t, WriterOptions{})
	peers := map[Form]io.Reader{}
	for _, form := range []Form{FormFLV, FormRTMP, FormWebSocket} {
		s, c := pair(t)
		add(t, w, s, p.Stream(), ViewerOptions{Form: form, Unread: true})
		peers[form] = c
	}
	waitForPlaces(t, p.Stream())
	p.Close()
	for form, c := range peers {
		equalTags(t, tagsOf(t, form, c), want)
	}
}
