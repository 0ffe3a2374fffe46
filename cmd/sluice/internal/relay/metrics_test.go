package relay

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
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
		`sluice_stream_received_frames_total{stream="live/s"} 50`,
		`sluice_stream_evicted_viewers_total{stream="live/s"} 0`,
		"# TYPE sluice_stream_sent_bytes_total counter",
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

// Sessions of every protocol are in the server's totals.
func TestMetricsOfEveryProtocol(t *testing.T) {
	s := startRelay(t, nil)
	clients := map[string]*session.Client{}
	for _, protocol := range []string{
		session.RTMP, session.RTMPS, session.FLV, session.FLVS, session.WS, session.WSS, session.HLS, session.HLSS,
		session.RTSP, session.RTSPS, session.SRT, session.WHEP, "another",
	} {
		clients[protocol] = s.host.Register.Begin(session.RoleViewer, session.Info{Protocol: protocol})
	}
	_, text := s.get(t, "/metrics")
	for protocol, c := range clients {
		for _, series := range []string{`sluice_viewers{protocol=%q} 1`, `sluice_sessions_total{protocol=%q,role="viewer"} 1`, `sluice_sent_bytes_total{protocol=%q} 0`} {
			if line := fmt.Sprintf(series, protocol); !strings.Contains(text, line+"\n") {
				t.Errorf("no line %q", line)
			}
		}
		c.End(nil)
	}
}

// Names are chosen by publishers: however many there are, the series are
// bounded, and nothing is lost from the sums.
func TestMetricsOfManyStreams(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.MaxStreams, c.Grace = 0, 0 })
	var publishers []*live.Publisher
	for i := range web.MaxLabels + 5 {
		p, err := s.host.Hub.Publish(fmt.Sprintf("live/%d", i), live.PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		publishers = append(publishers, p)
		frame := live.Frame{Type: 8, Payload: s.host.Alloc.Get(10)}
		copy(frame.Payload.Bytes(), "\xaf\x01........")
		if err := p.Publish(frame); err != nil { //sluice:moved
			t.Fatal(err)
		}
	}
	_, text := s.get(t, "/metrics")
	if n := strings.Count(text, "\nsluice_stream_received_frames_total{"); n != web.MaxLabels+1 {
		t.Errorf("%d series", n)
	}
	for _, line := range []string{fmt.Sprintf("sluice_streams %d", web.MaxLabels+5), `sluice_stream_received_frames_total{stream="other"} 5`, `sluice_stream_received_bytes_total{stream="other"} 50`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}

	// One of the others ends, and one has its own metrics since an older one has ended: what they
	// have done stays counted, or it would be a restart to Prometheus.
	for _, p := range []*live.Publisher{publishers[web.MaxLabels+4], publishers[0]} {
		p.Close()
		<-p.Stream().Done()
	}
	for range 2 {
		_, text = s.get(t, "/metrics")
		for _, line := range []string{fmt.Sprintf("sluice_streams %d", web.MaxLabels+3), `sluice_stream_received_frames_total{stream="other"} 5`, `sluice_stream_viewers{stream="other"} 0`} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("no line %q", line)
			}
		}
	}
}

// What the server has done in all does not fall when sessions and streams end,
// and says why they did.
func TestMetricsKeepTheirTotals(t *testing.T) {
	hook := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "live/no") {
			rw.WriteHeader(403)
		}
	}))
	t.Cleanup(hook.Close)
	s := startRelay(t, func(c *relayConfig) { c.Hook, c.Record = hook.URL, t.TempDir() })
	clip := flvtest.Clip(t)
	value := func(series string) float64 {
		t.Helper()
		_, text := s.get(t, "/metrics")
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, series+" "); ok {
				v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
		}
		return -1
	}
	var bytes, sent float64
	for round := range 2 {
		p := s.publishing(t, "/live/s.flv")
		p.send(t, clip[:50]...)
		_, r := s.playing(t, "/live/s.flv?wait=20")
		for range 50 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		now := value(`sluice_received_bytes_total{protocol="flv"}`)
		if now <= bytes {
			t.Errorf("round %d: %v bytes received, %v before", round, now, bytes)
		}
		p.Close()
		p.answered(t)
		relayEventually(t, "the end", func() bool { return len(s.host.Register.List()) == 0 })
		bytes = value(`sluice_received_bytes_total{protocol="flv"}`)
		if after := value(`sluice_sent_bytes_total{protocol="flv"}`); bytes < now || after <= sent {
			t.Errorf("round %d: after the end %v bytes received, %v before; %v sent, %v before", round, bytes, now, after, sent)
		} else {
			sent = after
		}
	}
	s.get(t, "/live/no.flv")
	s.get(t, "/live/absent.flv")
	for series, want := range map[string]float64{
		`sluice_received_frames_total{protocol="flv"}`:              100,
		`sluice_session_ends_total{reason="done",role="publisher"}`: 2,
		`sluice_session_ends_total{reason="done",role="viewer"}`:    2,
		`sluice_refusals_total{reason="hook",role="viewer"}`:        1,
		`sluice_refusals_total{reason="not_found",role="viewer"}`:   1,
		`sluice_hook_duration_seconds_count{result="refused"}`:      1,
		`sluice_hook_duration_seconds_count{result="admitted"}`:     5,
		`sluice_recordings_total`:                                   2,
		`sluice_recording_failures_total`:                           0,
		`sluice_streams`:                                            0,
	} {
		// A recording begins on a goroutine of its own, which may come late.
		relayEventually(t, fmt.Sprintf("%s is %v", series, want), func() bool { return value(series) == want })
	}
}

// What max-memory bounds is shown beside the bound, so that an alert comes before sessions are refused.
func TestMemoryBesideItsLimit(t *testing.T) {
	const limit = 128 << 20
	s := startRelay(t, func(c *relayConfig) { c.MaxMemory = limit })
	if _, text := s.get(t, "/metrics"); !strings.Contains(text, "\nsluice_memory_limit_bytes 1.34217728e+08\n") {
		t.Errorf("no limit of %d", limit)
	}
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Clip(t)[:50]...)
	relayEventually(t, "the memory of the stream", func() bool {
		_, text := s.get(t, "/metrics")
		return strings.Contains(text, "\nsluice_memory_used_bytes ") && !strings.Contains(text, "\nsluice_memory_used_bytes 0\n")
	})
}

// Names and help follow the conventions of Prometheus, and the dashboard asks for
// nothing that there is not.
func TestMetricsConventions(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.Record, c.Origin = t.TempDir(), []string{"rtmp://127.0.0.1:1/"} })
	s.publishing(t, "/live/s.flv").send(t, flvtest.Clip(t)[:50]...)
	s.playing(t, "/live/s.flv?wait=20")
	s.viewersOf(t, "live/s", 1)
	s.get(t, "/live/.bad.flv") // a refusal
	s.host.Register.Begin(session.RoleViewer, session.Info{Protocol: session.FLV}).End(nil)
	s.settings.ask.Done(time.Second, "admitted")
	_, text := s.get(t, "/metrics")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "sluice_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	dashboard, err := os.ReadFile("../../../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(dashboard, &parsed); err != nil {
		t.Fatal(err)
	}
	asked := 0
	names := regexp.MustCompile(`\b(sluice|process|go)_[a-z_]+`)
	for _, panel := range parsed.Panels {
		for _, target := range panel.Targets {
			for _, name := range names.FindAllString(target.Expr, -1) {
				asked++
				if !strings.Contains(text, "\n"+name+"{") && !strings.Contains(text, "\n"+name+" ") {
					t.Errorf("the panel %q asks for %s, which there is not", panel.Title, name)
				}
			}
		}
	}
	if asked < 15 {
		t.Errorf("the dashboard asks for %d series", asked)
	}
}

// Browsers take no answer for something else than it says it is.
func TestAnswersAreNotSniffed(t *testing.T) {
	s := startRelay(t, nil)
	for _, path := range []string{"/metrics", "/healthz", "/", "/api/streams", "/api/none", "/live/none.flv", "/live/none.m3u8"} {
		resp := s.request(t, "GET", path, nil)
		resp.Body.Close()
		if got := resp.Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: %q", path, got)
		}
	}
}
