package push

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// The log says once, for all attempts, that pictures without a sequence header are left out of a push by SRT.
func TestPicturesWithoutAHeaderAreLoggedOnce(t *testing.T) {
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	p, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	stream, _ := hub.Stream("live/s")
	target, err := NewTarget("live/*", "srt://h.example:9000?streamid=hunter2", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	q := &pushing{pusher: New(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}), stream: stream, target: target}
	tags := flvtest.Tag{Type: flv.TagVideo, Payload: "\x27\x01\x00\x00\x00\x00\x00\x00\x01\x09"}.Append(nil)
	tags = flvtest.Tag{Type: flv.TagVideo, Time: 40, Payload: "\x27\x01\x00\x00\x00\x00\x00\x00\x01\x09"}.Append(tags)
	for range 2 {
		w := srtWriter{bare: q.leaveBare, checked: time.Now()}
		if err := w.write(tags); err != nil {
			t.Fatal(err)
		}
	}
	if text := log.String(); strings.Count(text, "pictures before their sequence header are left out") != 1 || !strings.Contains(text, "codec=avc1") || strings.Contains(text, "hunter2") {
		t.Errorf("%q", text)
	}
}
