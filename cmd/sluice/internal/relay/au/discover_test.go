package au

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// A publisher may say nothing for seconds, as ffmpeg does until it has both tracks: a viewer who waits
// for a stream gets it then too. One who does not is answered after three seconds.
func TestTracksOfAPublisherWhoBeginsLate(t *testing.T) {
	for _, c := range []struct {
		wait, begins, answer time.Duration
		found                bool
	}{
		{20 * time.Second, 10 * time.Second, 10*time.Second + discoverMore, true},
		{20 * time.Second, 30 * time.Second, 20 * time.Second, false},
		{0, 2 * time.Second, 2*time.Second + discoverMore, true},
		{0, 5 * time.Second, discoverTime, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			hub := live.NewHub(live.HubOptions{})
			defer hub.Close()
			p, err := hub.Publish("live/s", live.PublishOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			publish := time.AfterFunc(c.begins, func() {
				p.Publish(live.Frame{Type: flv.TagAudio, Payload: mem.Wrap([]byte{7 << 4, 1, 2, 3}, nil)})
			})
			defer publish.Stop()
			began := time.Now()
			_, audio, err := Discover(t.Context(), p.Stream(), c.wait)
			if took := time.Since(began); err != nil || (audio != nil) != c.found || took != c.answer {
				t.Errorf("%v waits, the first frame comes after %v: %v, %v after %v, want %v", c.wait, c.begins, audio, err, took, c.answer)
			}
		})
	}
}

// A track that a sequence header has announced is waited for as one that the metadata says; of others
// that may come the wait is short.
func TestTracksThatAHeaderAnnounces(t *testing.T) {
	for _, c := range []struct {
		name   string
		header bool
		sound  time.Duration // when it begins, behind the first picture
		answer time.Duration
	}{
		{"announced", true, 2 * time.Second, 2 * time.Second},
		{"announced, and late", true, 5 * time.Second, discoverTime},
		{"not announced", false, 2 * time.Second, discoverMore},
	} {
		synctest.Test(t, func(t *testing.T) {
			hub := live.NewHub(live.HubOptions{})
			defer hub.Close()
			p, err := hub.Publish("live/s", live.PublishOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			send := func(typ flv.TagType, body string) {
				if err := p.Publish(live.Frame{Type: typ, Payload: mem.Wrap([]byte(body), nil)}); err != nil {
					t.Error(err)
				}
			}
			send(flv.TagVideo, "\x17\x00\x00\x00\x00\x01\x42\x00\x1e\xff\xe1\x00\x04\x67\x01\x02\x03\x01\x00\x02\x68\x01")
			if c.header {
				send(flv.TagAudio, "\xaf\x00\x12\x10")
			}
			send(flv.TagVideo, "\x17\x01\x00\x00\x00\x00\x00\x00\x02\x65\x01")
			sound := time.AfterFunc(c.sound, func() { send(flv.TagAudio, "\xaf\x01\x21\x10\x04\x60\x8c\x1c") })
			defer sound.Stop()
			began := time.Now()
			video, audio, err := Discover(t.Context(), p.Stream(), 0)
			if took := time.Since(began); err != nil || video == nil || (audio != nil) != (c.header && c.sound < discoverTime) || took != c.answer {
				t.Errorf("%s: %v, %v, %v after %v, want %v", c.name, video, audio, err, took, c.answer)
			}
		})
	}
}
