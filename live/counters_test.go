package live

import (
	"testing"
	"time"
)

// A group of pictures is measured from its key frame: not where a publisher begins in the middle of one, nor
// from the beginning of the stream where another process goes on with it.
func TestGroupsAreMeasuredFromTheirKeyFrames(t *testing.T) {
	h := NewHub(HubOptions{})
	p := mustPublish(t, h, "a/b", PublishOptions{})
	group := func(what string, want time.Duration) {
		t.Helper()
		if got := p.Stream().Stats().GOPTime; got != want {
			t.Errorf("%s: a group of %v, not %v", what, got, want)
		}
	}
	send(t, p, videoConfig(60_000, 1), video(60_000, false, 100), video(60_040, false, 100), video(60_080, true, 100))
	group("without its key frame", 0)
	send(t, p, video(60_120, false, 100), video(62_080, true, 100), video(62_120, false, 100))
	group("with it", 2*time.Second)
	st, tags, ok := p.Stream().State()
	if !ok {
		t.Fatal("no state")
	}
	st.Frames, st.Bytes = st.Frames+100, st.Bytes+1000 // more than the ring has
	next := NewHub(HubOptions{})
	_, there, err := next.Adopt(st, tags)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	p = there
	before := p.Stream().Stats()
	if before.FramesIn != st.Frames || before.BytesIn != st.Bytes {
		t.Errorf("%d frames, %d bytes, not %d and %d", before.FramesIn, before.BytesIn, st.Frames, st.Bytes)
	}
	send(t, p, video(63_080, true, 100))
	group("in another process", time.Second)
	p.Close()
}
