package relay

import (
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/flv"
)

// rtmpStack waits until some goroutine is in a function.
func rtmpStack(t *testing.T, function string) {
	t.Helper()
	stacks := make([]byte, 4<<20)
	rtmpUntil(t, "a goroutine is in "+function, func() bool {
		return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), function)
	})
}

// A publisher that has to wait for a viewer, because it is much faster than real time,
// keeps no other publisher waiting, and loses nothing.
func TestRTMPPublisherAheadOfTimeKeepsNoOtherWaiting(t *testing.T) {
	const frames = 1500
	s := rtmpServe(t, func(c *relayConfig) { c.GOPFrames = 100 })
	in := func(name string) int64 {
		st, ok := s.host.Hub.Stream(name)
		if !ok {
			return 0
		}
		return st.Stats().FramesIn
	}
	frame := func(i, n int) rtmpFrame {
		head := "\x22\x01\x00\x00\x00"
		if i%50 == 0 {
			head = "\x12\x01\x00\x00\x00"
		}
		return rtmpFrame{Type: flv.TagVideo, Time: uint32(i) * 40, Body: head + strings.Repeat("x", n)}
	}
	fast := rtmpPush(t, s, "rtmp", "live", "fast")
	live := rtmpPush(t, s, "rtmp", "live", "live")
	if runtime.GOOS == "linux" {
		rtmpStack(t, "intake.(*Conn).Serve")
	}
	if err := fast.send([]rtmpFrame{frame(0, 10)}); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "the first frame is there", func() bool { return in("live/fast") == 1 })
	v := rtmpDial(t, s, "rtmp", "live")
	if err := v.c.Play("fast"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.receive(1); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		for i := 1; i < frames; i++ {
			if err := fast.send([]rtmpFrame{frame(i, 20<<10)}); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	rtmpStack(t, "rtmpserver.(*reception).wait") // the viewer takes nothing
	for i := range 20 {
		if err := live.send([]rtmpFrame{frame(i, 10)}); err != nil {
			t.Fatal(err)
		}
		rtmpUntil(t, "the other publisher's frame is there", func() bool { return in("live/live") == int64(i+1) })
	}
	v.close()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "all frames are there", func() bool { return in("live/fast") == frames })
}
