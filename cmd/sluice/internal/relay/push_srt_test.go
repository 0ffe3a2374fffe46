package relay

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/live"
)

// What is published here is published there by SRT, encrypted; again when the target has
// ended it. Nothing says the stream id and the passphrase.
func TestPushBySRT(t *testing.T) {
	far := rtmpServe(t, func(c *relayConfig) {
		c.SRT, c.SRTPassphrase, c.Grace = "127.0.0.1:0", "hunter2hunter2", time.Minute
	})
	address := far.Addresses()["srt"]
	log := &relayLog{}
	near := rtmpServeWith(t, nil, pushing(t, log,
		"live/*=srt://"+address+"?streamid=%23!::r=live/copy-*%2Cm=publish&passphrase=${KEY}hunter2&latency=1000",
	))
	p := rtmpPush(t, near, "rtmp", "live", "s")
	// The clip again and again until enough has come: a machine that stands still loses
	// some on its way, and a call may be tried again.
	const enough = 150
	stop, sent := make(chan struct{}), make(chan error, 1)
	go func() { sent <- rtmpRepeat(p, stop) }()
	var stream *live.Stream
	rtmpUntil(t, "it is there", func() (ok bool) { stream, ok = far.host.Hub.Stream("live/copy-s"); return ok })
	r, err := stream.NewReader(live.ReaderOptions{FromStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), rtmpTimeout)
	defer cancel()
	var split au.Splitter
	var got []srtUnit
	for len(got) < enough {
		tags, _, err := r.Next(ctx)
		if err != nil {
			t.Fatalf("%v after %d units", err, len(got))
		}
		for tag := range au.Tags(tags) {
			if u, ok, err := split.Split(tag.Type, tag.Time, tag.Body); err == nil && ok {
				got = append(got, srtMedia(&u))
			}
		}
	}
	video, audio := srtKinds(got)
	clip := srtClip().units
	wantVideo, wantAudio := srtKinds(slices.Concat(clip, clip))
	srtSame(t, "pictures", video, srtFrom(wantVideo, video))
	srtSame(t, "sound", audio, srtFrom(wantAudio, audio))
	rtmpUntil(t, "it is live", func() bool { return pushStates(near) == "live" })
	for _, c := range far.host.Register.List() {
		if c.Role == session.RolePublisher {
			c.Stop(session.ErrKicked)
		}
	}
	rtmpUntil(t, "it is there again", func() bool {
		for _, s := range near.web.Pushes.List() {
			if s.State == push.Live && s.Tries > 1 {
				return true
			}
		}
		return false
	})
	api := &relayServer{Server: near, http: near.Addresses()["http"]}
	status, text := api.get(t, "/api/pushes")
	if status != 200 || !strings.Contains(text, "srt://"+address) || strings.Contains(text+log.String(), "hunter2") || strings.Contains(text+log.String(), "copy-") {
		t.Errorf("%d %s\n%s", status, text, log)
	}
	close(stop)
	if err := <-sent; err != nil {
		t.Error(err)
	}
	p.close()
	rtmpUntil(t, "all has ended", func() bool { return len(near.web.Pushes.List()) == 0 })
}

// srtFrom is what was sent from where got begins on, twice as much as came.
func srtFrom(sent, got []string) []string {
	if len(got) == 0 || !slices.Contains(sent, got[0]) {
		return sent
	}
	sent = sent[slices.Index(sent, got[0]):]
	return sent[:min(len(sent), 2*len(got))]
}

// rtmpRepeat publishes the clip again and again, at some times its own pace, until stop.
func rtmpRepeat(x *rtmpClient, stop <-chan struct{}) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	clip := rtmpClip()
	for round := uint32(0); ; round++ {
		for i, f := range clip {
			if round > 0 && i < 3 {
				continue // metadata and headers
			}
			f.Time += round * 11_000
			if err := x.send([]rtmpFrame{f}); err != nil {
				return err
			}
			select {
			case <-tick.C:
			case <-stop:
				return nil
			}
		}
	}
}

// A stream of which nothing has a form in a transport stream is refused before any call.
func TestPushBySRTOfNothing(t *testing.T) {
	near := rtmpServeWith(t, nil, pushing(t, &relayLog{}, "live/s=srt://"+loopback.Free(t)+"?streamid=publish:live/s"))
	p := rtmpPush(t, near, "rtmp", "live", "s")
	var frames []rtmpFrame
	for i := range uint32(20) {
		frames = append(frames, rtmpFrame{Type: flv.TagAudio, Time: 20 * i, Body: "\x72\xd5\xd5\xd5\xd5"}) // A-law
	}
	if err := p.send(frames); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "the state says so", func() bool {
		list := near.web.Pushes.List()
		return len(list) == 1 && list[0].State == push.Refused && strings.Contains(list[0].Error, "nothing of the stream")
	})
	p.close()
}
