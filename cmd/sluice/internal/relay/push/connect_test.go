package push

import (
	"context"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// pushed begins to push a stream with these headers of sound and pictures to a target over
// a pipe, and returns the publisher and the target's end.
func pushed(t *testing.T, url string, headers ...string) (*Pusher, *live.Publisher, net.Conn) {
	t.Helper()
	hub := live.NewHub(live.HubOptions{})
	t.Cleanup(func() { hub.Close() })
	pub, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		b := mem.Default().Get(len(h))
		copy(b.Bytes(), h)
		kind := flv.TagVideo
		if h[0]>>4 == 10 || h[0]&0xf0 == 0x90 && h[1] == 'O' {
			kind = flv.TagAudio
		}
		if err := pub.Publish(live.Frame{Type: kind, Payload: b}); err != nil {
			t.Fatal(err)
		}
	}
	target, err := NewTarget("live/*", url, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	called := make(chan net.Conn, 1)
	p := New(Options{
		Targets: func(string) []*Target { return []*Target{target} },
		dial: func(context.Context, string) (net.Conn, error) {
			near, far := net.Pipe()
			called <- far
			return near, nil
		},
	})
	p.Begin(pub.Stream())
	return p, pub, <-called
}

// A target that takes the connection and says nothing holds up neither the end of its
// stream nor that of the server.
func TestSilentTargetAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, pub, far := pushed(t, "rtmp://a.example/live/*")
		go func() { _, _ = io.Copy(io.Discard, far) }()
		synctest.Wait()
		began := time.Now()
		pub.Close()
		if err := p.Close(t.Context()); err != nil || time.Since(began) > 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A push begins with its stream, and waits for the first tags before it says what they need.
func TestPushWaitsForTheFirstTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, pub, far := pushed(t, "rtmp://a.example/live/*")
		server := rtmp.NewConn(sluice.NewBufReader(far), sluice.NewBufWriter(far), rtmp.Options{})
		type connected struct {
			req *rtmp.Request
			err error
		}
		asked := make(chan connected, 1)
		go func() {
			err := server.ServerHandshake()
			if err != nil {
				asked <- connected{nil, err}
				return
			}
			req, err := server.ReadRequest()
			asked <- connected{req, err}
		}()
		synctest.Wait()
		for _, header := range []string{"\x17\x00\x00\x00\x00\x01", "\x17\x01\x00\x00\x00\x65"} {
			b := mem.Default().Get(len(header))
			copy(b.Bytes(), header)
			if err := pub.Publish(live.Frame{Type: flv.TagVideo, Payload: b}); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-asked; got.err != nil || got.req.Capabilities.FourCCs != nil {
			t.Errorf("%v, %+v", got.err, got.req)
		}
		far.Close()
		pub.Close()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A target gets the fields of enhanced RTMP when the stream needs it or is not known: some servers
// do not understand the array in it, and never answer.
func TestWhatTargetsAreTold(t *testing.T) {
	const avc, aac, hevc, opus = "\x17\x00\x00\x00\x00\x01", "\xaf\x00\x12\x10", "\x90hvc1\x01", "\x90OpusOpusHead"
	for name, c := range map[string]struct {
		headers []string
		want    []string
	}{
		"H.264 and AAC":  {[]string{avc, aac}, nil},
		"HEVC and AAC":   {[]string{hevc, aac}, []string{"*"}},
		"H.264 and Opus": {[]string{avc, opus}, []string{"*"}},
		"not known yet":  {nil, []string{"*"}},
	} {
		p, pub, far := pushed(t, "rtmp://a.example/live/*", c.headers...)
		server := rtmp.NewConn(sluice.NewBufReader(far), sluice.NewBufWriter(far), rtmp.Options{})
		if err := server.ServerHandshake(); err != nil {
			t.Fatal(err)
		}
		req, err := server.ReadRequest()
		if err != nil {
			t.Fatal(err)
		}
		if got := req.Capabilities.FourCCs; !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		far.Close()
		pub.Close()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
