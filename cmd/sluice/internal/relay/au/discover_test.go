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
