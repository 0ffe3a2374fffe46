package relay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
	"github.com/sluice-go/sluice/live"
)

func TestMetrics(t *testing.T) {
	s := startRelay(t, nil)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Clip(t)[:50]...)
	relayEventually(t, "the frames", func() bool {
		st, ok := s.host.Hub.Stream("live/s")
		return ok && st.Stats().FramesIn == 50
	})
	s.playing(t, "/live/s.flv")
	s.viewersOf(t, "live/s", 1)
	status, text := s.get(t, "/metrics")
	if status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	for _, line := range []string{
		"sluice_streams 1",
		`sluice_publishers{protocol="flv"} 1`,
		`sluice_publishers{protocol="rtmps"} 0`,
		`sluice_viewers{protocol="flv"} 1`,
		`sluice_viewers{protocol="ws"} 0`,
		`sluice_sessions_total{protocol="flv",role="viewer"} 1`,
		`sluice_stream_viewers{stream="live/s"} 1`,
		`sluice_stream_frames_in_total{stream="live/s"} 50`,
		`sluice_stream_evicted_total{stream="live/s"} 0`,
		"# TYPE sluice_stream_bytes_out_total counter",
		"# TYPE sluice_memory_out_bytes gauge",
		"# TYPE go_goroutines gauge",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	if strings.Contains(text, `stream="other"`) {
		t.Error("there are others")
	}
}

// Names are chosen by publishers: however many there are, the series are
// bounded, and nothing is lost from the sums.
func TestMetricsOfManyStreams(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.MaxStreams = 0 })
	for i := range web.MaxLabels + 5 {
		p, err := s.host.Hub.Publish(fmt.Sprintf("live/%d", i), live.PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		frame := live.Frame{Type: 8, Payload: s.host.Alloc.Get(10)}
		copy(frame.Payload.Bytes(), "\xaf\x01........")
		if err := p.Publish(frame); err != nil { //sluice:moved
			t.Fatal(err)
		}
	}
	_, text := s.get(t, "/metrics")
	if n := strings.Count(text, "\nsluice_stream_frames_in_total{"); n != web.MaxLabels+1 {
		t.Errorf("%d series", n)
	}
	for _, line := range []string{fmt.Sprintf("sluice_streams %d", web.MaxLabels+5), `sluice_stream_frames_in_total{stream="other"} 5`, `sluice_stream_bytes_in_total{stream="other"} 50`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}
