package web

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// What a stream carries is looked up for each line of /api/streams: metadata of as many values
// as are kept of it, which a publisher sends, must not be built for that.
func TestLongMetadataCostsTheListOfStreamsLittle(t *testing.T) {
	h := live.NewHub(live.HubOptions{})
	defer h.Close()
	p, err := h.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	meta := "\x02\x00\x0aonMetaData\x08\x00\x00\x00\x01" + strings.Repeat("\x00\x01a\x02\x00\x04text", 20_000) +
		"\x00\x05width\x00\x40\x84\x00\x00\x00\x00\x00\x00\x00\x0cvideocodecid\x00\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09"
	for _, f := range []live.Frame{
		{Type: flv.TagScript, Payload: mem.Wrap([]byte(meta), nil)},
		{Type: flv.TagVideo, Payload: mem.Wrap([]byte("\x12\x00\x00\x84"), nil)},
	} {
		if err := p.Publish(f); err != nil {
			t.Fatal(err)
		}
	}
	var video *VideoInfo
	made := testing.AllocsPerRun(1, func() { video, _ = mediaInfo(p.Stream(), p.Stream().Stats()) })
	if video == nil || video.Width != 640 || made > 1000 {
		t.Errorf("%+v with %v allocations", video, made)
	}
}
