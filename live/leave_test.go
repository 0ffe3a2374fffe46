package live

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// waitForFrames waits until v was sent so many frames.
func waitForFrames(t *testing.T, v *Viewer, n int64) {
	t.Helper()
	for end := time.Now().Add(eventTimeout); v.Stats().Frames < n; {
		if time.Now().After(end) {
			t.Fatalf("%d frames are sent, not %d", v.Stats().Frames, n)
		}
		<-time.After(time.Millisecond)
	}
}

// A viewer that is to end at a key frame gets everything before it, however it is sent to.
func TestViewerEndsAtAKeyFrame(t *testing.T) {
	for _, kind := range []string{"socket", "wire", "tls"} {
		alloc := mem.New(mem.Options{Name: t.Name()})
		sluicetest.NoLeaks(t, alloc)
		h := NewHub(HubOptions{Stream: StreamOptions{Allocator: alloc}})
		p := mustPublish(t, h, "s", PublishOptions{})
		w := newWriter(t, WriterOptions{})
		s, c := pair(t)
		var conn, peer net.Conn = s, c
		switch kind {
		case "wire":
			conn, peer = wirePair(t, s, c)
		case "tls":
			conn, peer = tlsPair(t, s, c)
		}
		stays, stayed := pair(t)
		v := add(t, w, conn, p.Stream(), ViewerOptions{FromStart: true, Trailer: []byte("bye")})
		other := add(t, w, stays, p.Stream(), ViewerOptions{FromStart: true})
		const group = 3
		var sizes []int
		more := func() {
			at := len(sizes)
			sizes = append(sizes, 100+at)
			send(t, p, video(uint32(40*at), at%group == 0, 100+at))
		}
		more()
		more()
		waitForFrames(t, v, 2)
		v.EndAtKey()
		v.EndAtKey()
		for open := true; open; {
			select {
			case <-v.Done():
				open = false
			case <-time.After(time.Millisecond):
				more()
			}
		}
		if !errors.Is(v.Err(), ErrEnded) {
			t.Errorf("%s: it ended for %v", kind, v.Err())
		}
		b, err := io.ReadAll(peer)
		if n := len(b) - len("bye"); err != nil || n < 0 || string(b[n:]) != "bye" {
			t.Fatalf("%s: %d bytes, %v", kind, len(b), err)
		}
		if got := pictures(t, fileOf(t, b[:len(b)-len("bye")])); len(got)%group != 0 || !slices.Equal(got, sizes[:len(got)]) {
			t.Errorf("%s: pictures %v of %v", kind, got, sizes)
		}
		p.Close()
		waitFor(t, other.Done(), "end of the other viewer")
		if got := pictures(t, fileTags(t, stayed)); !slices.Equal(got, sizes) {
			t.Errorf("%s: the other viewer has pictures %v", kind, got)
		}
		w.Close()
	}
}

// Where no key frame is to be waited for, it ends at once.
func TestViewerEndsWithoutAKeyFrame(t *testing.T) {
	for name, before := range map[string][]tag{"nothing": nil, "sound": {audio(0, 50), audio(20, 50)}} {
		h := NewHub(HubOptions{})
		p := mustPublish(t, h, "s", PublishOptions{})
		w := newWriter(t, WriterOptions{})
		s, c := pair(t)
		v := add(t, w, s, p.Stream(), ViewerOptions{FromStart: true, Trailer: []byte("bye")})
		send(t, p, before...)
		waitForFrames(t, v, int64(len(before)))
		v.EndAtKey()
		waitFor(t, v.Done(), "end of the viewer, "+name)
		b, err := io.ReadAll(c)
		if n := len(b) - len("bye"); err != nil || n < 0 || string(b[n:]) != "bye" || (n == 0) != (before == nil) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
		h.Close()
		w.Close()
	}
}
