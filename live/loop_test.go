package live

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// handLoop is a loop without a goroutine: the test does its rounds.
type handLoop struct {
	*loop
	t      *testing.T
	limits WriterOptions
	now    time.Time
}

func newHandLoop(t *testing.T) *handLoop {
	l := &handLoop{loop: newLoop(func(*Viewer) {}), t: t, limits: WriterOptions{Lag: time.Hour, Stall: time.Hour}.withDefaults(1), now: time.Now()}
	t.Cleanup(func() {
		for len(l.viewers) > 0 {
			l.close(l.viewers[0], ErrClosed)
		}
		l.fresh.yielder.close()
	})
	return l
}

// view adds a viewer of s, and returns the peer's end.
func (l *handLoop) view(s *Stream, o ViewerOptions) (*Viewer, io.Reader) {
	l.t.Helper()
	v, peer := l.newcomer(s, o)
	l.admit(v, l.now)
	return v, peer
}

// newcomer is a viewer of s that the loop does not have yet, and the peer's end.
func (l *handLoop) newcomer(s *Stream, o ViewerOptions) (*Viewer, io.Reader) {
	l.t.Helper()
	conn, peer := pair(l.t)
	v := newViewer(conn, s, &l.limits)
	if v.link.waits {
		l.t.Skip("no loop writes to sockets here")
	}
	v.owner, v.link.socket = l.loop, &l.socket
	if !s.attach(v, o) {
		l.t.Fatal("the stream is over")
	}
	v.cursor.own = &l.own
	return v, peer
}

// round does what came by mail, and what is due after so long.
func (l *handLoop) round(later time.Duration) {
	l.now = l.now.Add(later)
	notified := l.mail.notified
	l.mail.notified = nil
	for _, g := range notified {
		l.arm(g, l.now)
	}
	l.work(l.now)
}

// A key frame of 4 MB to many viewers: none is sent more than a bit of it before the
// loop looks for what else is due, and the viewer of another stream has each of its
// frames in the round after it came.
func TestLargeFramesDoNotHoldUpOtherStreams(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	large, small := mustPublish(t, h, "large", PublishOptions{}), mustPublish(t, h, "small", PublishOptions{})
	l := newHandLoop(t)
	var viewers []*Viewer
	for i := range 20 {
		v, _ := l.view(large.Stream(), ViewerOptions{FromStart: true, Form: []Form{FormFLV, FormRTMP, FormWebSocket, FormChunked}[i%4]})
		viewers = append(viewers, v)
	}
	other, _ := l.view(small.Stream(), ViewerOptions{FromStart: true})
	send(t, small, video(0, true, 10))
	l.round(time.Millisecond)
	before := make([]int64, len(viewers))
	for n := range 100 {
		if n == 5 {
			send(t, large, video(0, true, 4<<20))
		}
		frame := video(uint32(n)*10, false, 100)
		was := other.figures.bytes.Load()
		send(t, small, frame)
		l.round(10 * time.Millisecond)
		if got := other.figures.bytes.Load() - was; got != int64(len(frame.body)+15) {
			t.Fatalf("round %d: the viewer of the other stream got %d bytes", n, got)
		}
		for i, v := range viewers {
			now := v.figures.bytes.Load()
			// Once from its group, and once of those that are behind.
			if d := now - before[i]; d > 2*visit {
				t.Fatalf("round %d: viewer %d got %d bytes at once", n, i, d)
			}
			before[i] = now
		}
	}
	for i, v := range viewers {
		if before[i] < visit {
			t.Errorf("viewer %d got %d bytes of the large frame, and is in state %d", i, before[i], v.state)
		}
	}
}

// A wake-up for one group looks at no other: groups that wait for their merge time stay
// where they are.
func TestAWakeUpLooksOnlyAtWhatIsDue(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	l := newHandLoop(t)
	publishers := make([]*Publisher, 20)
	viewers := make([]*Viewer, 20)
	for i := range publishers {
		publishers[i] = mustPublish(t, h, string(rune('a'+i)), PublishOptions{})
		viewers[i], _ = l.view(publishers[i].Stream(), ViewerOptions{FromStart: true, Merge: time.Duration(i) * time.Minute})
		send(t, publishers[i], video(0, true, 10))
	}
	l.round(0) // each is served for the first time
	for i, p := range publishers {
		if viewers[i].figures.frames.Load() != 1 {
			t.Fatalf("viewer %d has %d frames", i, viewers[i].figures.frames.Load())
		}
		send(t, p, video(40, false, 10))
	}
	for minute := range publishers {
		l.round(time.Millisecond)
		for i, v := range viewers {
			want := int64(1)
			if i <= minute {
				want = 2
			}
			if got := v.figures.frames.Load(); got != want {
				t.Fatalf("after %d minutes viewer %d has %d frames, want %d", minute, i, got, want)
			}
		}
		if got := len(l.agenda); got != len(publishers)-1-minute {
			t.Fatalf("after %d minutes %d groups wait", minute, got)
		}
		l.now = l.now.Add(time.Minute)
	}
}

// What is sent at most is sent, and not more, wherever that cuts the parts.
func TestSendEndsWhereItIsTo(t *testing.T) {
	conn, peer := pair(t)
	link := newLink(conn)
	if link.waits {
		t.Skip("no loop writes to sockets here")
	}
	var w socketWriter
	w.init()
	var parts [][]byte
	for i := range 2000 { // more than one call takes
		parts = append(parts, bytes.Repeat([]byte{byte(i)}, 1+i%7))
	}
	all := bytes.Join(parts, nil)
	for _, most := range []int{0, 1, 2, 7, 100, 4000, 4105, 7000, len(all) - 1, len(all), len(all) + 1} {
		n, err := w.send(link.raw, parts, most)
		if want := min(most, len(all)); err != nil || n != want {
			t.Fatalf("%d of %d bytes went out, want %d; %v", n, most, want, err)
		}
		got := make([]byte, n)
		if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got, all[:n]) {
			t.Fatalf("the first %d bytes are others; %v", n, err)
		}
	}
	if n, err := w.send(link.raw, [][]byte{all}, 77); n != 77 || err != nil {
		t.Errorf("%d bytes of one part, %v", n, err)
	}
}

// A frame that is large stays in the memory that it was published in.
func TestLargeFramesAreNotCopied(t *testing.T) {
	alloc := mem.New(mem.Options{Name: t.Name()})
	h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc}})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	s := p.Stream()
	for _, n := range []int{keepFrom - 1, keepFrom, 1 << 20} {
		b := mem.Default().Get(n)
		copy(b.Bytes(), video(0, true, 10).body)
		at := &b.Bytes()[0]
		if err := p.Publish(Frame{Type: 9, Payload: b}); err != nil {
			t.Fatal(err)
		}
		var fresh, out batch
		seq := s.ring.next - 1
		s.ring.fill(&fresh, FormFLV, seq, seq+1, 1<<30)
		out.join(&fresh, alloc)
		same := false
		for _, part := range out.parts {
			same = same || &part[0] == at
		}
		if same != (n >= keepFrom) {
			t.Errorf("a frame of %d bytes stayed where it was: %v", n, same)
		}
		if len(out.parts) > 3 {
			t.Errorf("a frame of %d bytes goes out in %d parts", n, len(out.parts))
		}
		out.reset()
	}
}
