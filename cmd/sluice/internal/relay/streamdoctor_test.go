package relay

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/streamdoctor"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/rtmp"
)

// doctored asks the doctor of a stream.
func doctored(t *testing.T, s *relayServer, stream string) (codes []string, text string) {
	status, text := s.get(t, "/api/streams/"+stream+"/doctor")
	var answer struct {
		Healthy  bool
		Findings []streamdoctor.Finding
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 || answer.Healthy != (len(answer.Findings) == 0) {
		t.Errorf("%s: %d %s: %v", stream, status, text, err)
	}
	for _, f := range answer.Findings {
		codes = append(codes, f.Code)
	}
	return codes, text
}

// paced publishes 50 frames a second of 4,000 bytes, at some speed, until the test ends;
// stop, unless it is nil, ends the frames and not the connection. bytes, if it is not
// 0, is how many a second the connection takes.
func paced(t *testing.T, s *relayServer, name string, speed float64, bytes int, stop <-chan struct{}) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addresses()["rtmp"])
	if err != nil {
		t.Fatal(err)
	}
	x := rtmpClientOn(t, slowConn{conn, bytes})
	if err := conn.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := x.connectAs("live", name); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var writing, reading sync.WaitGroup
	t.Cleanup(func() {
		close(over)
		conn.Close()
		writing.Wait()
		reading.Wait()
	})
	reading.Go(func() { // pings are answered
		for {
			m, err := x.c.ReadMessage()
			if err != nil {
				return
			}
			m.Release()
		}
	})
	writing.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		began, sent := time.Now(), 0
		for {
			select {
			case <-tick.C:
			case <-over:
				return
			case <-stop:
				stop = nil
				<-over
				return
			}
			// As many as are due, also when this goroutine came late.
			for due := int(time.Since(began).Seconds() * 50 * speed); sent < due; sent++ {
				body := "\x22\x01\x00\x00\x00" + string(make([]byte, 4000))
				if sent%50 == 0 {
					body = "\x12" + body[1:]
				}
				if x.send([]rtmpFrame{{flv.TagVideo, uint32(sent * 20), body}}) != nil {
					return
				}
			}
		}
	})
}

func (x *rtmpClient) connectAs(app, name string) error {
	if err := x.c.ClientHandshake(); err != nil {
		return err
	}
	if err := x.c.Connect(rtmp.ConnectOptions{App: app, TCURL: "rtmp://127.0.0.1/" + app}); err != nil {
		return err
	}
	return x.c.Publish(name)
}

// slowConn takes so many bytes a second, a few at a time; 0: as many as come.
type slowConn struct {
	net.Conn
	rate int
}

func (c slowConn) Write(p []byte) (n int, err error) {
	for c.rate > 0 && len(p) > n {
		k := min(len(p)-n, 1400)
		<-time.After(time.Duration(k) * time.Second / time.Duration(c.rate))
		m, err := c.Conn.Write(p[n : n+k])
		if n += m; err != nil {
			return n, err
		}
	}
	if c.rate > 0 {
		return n, nil
	}
	return c.Conn.Write(p)
}

// What is wrong with real publishers and viewers is named, and a healthy stream is not
// accused. On a machine that is full the server says so, of all of them.
func TestStreamDoctor(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.RTMP, c.Grace = "127.0.0.1:0", 10*time.Minute })
	stop := make(chan struct{})
	paced(t, s, "healthy", 1, 0, nil)
	paced(t, s, "slow", 0.6, 0, nil)
	paced(t, s, "line", 1, 100_000, nil)
	paced(t, s, "stopped", 1, 0, stop)
	paced(t, s, "stuck", 1, 0, nil)
	gone := rtmpPush(t, s.Server, "rtmp", "live", "gone")
	if err := gone.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	gone.close()
	want := map[string]string{
		"live/healthy": "", "live/slow": streamdoctor.EncoderSlow, "live/line": streamdoctor.PublisherLine, "live/stopped": streamdoctor.EncoderStopped,
		"live/gone": streamdoctor.NoPublisher, "live/stuck": streamdoctor.ViewerLine,
	}
	for name := range want {
		rtmpUntil(t, name+" has frames", func() bool {
			st, ok := s.host.Hub.Stream(name)
			return ok && st.Stats().FramesIn > 5
		})
	}
	stuck, _ := s.raw(t, "GET /live/stuck.flv HTTP/1.1\nHost: a\n\n")
	if err := stuck.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	well, _ := s.raw(t, "GET /live/healthy.flv HTTP/1.1\nHost: a\n\n")
	go io.Copy(io.Discard, well) // until it is closed
	close(stop)
	var asking sync.WaitGroup
	for name, code := range want {
		asking.Go(func() {
			said := ""
			for range 10 { // what has just begun, or a machine that is full for a moment
				codes, text := doctored(t, s, name)
				if code == "" && len(codes) == 0 || code != "" && slices.Contains(codes, code) || slices.Contains(codes, streamdoctor.ServerProcessor) {
					return
				}
				said += fmt.Sprintf("\n%s", text)
			}
			t.Errorf("%s: want %q, got %s", name, code, said)
		})
	}
	asking.Wait()
	if status, text := s.get(t, "/api/streams/live/none/doctor"); status != 404 {
		t.Errorf("no stream: %d %s", status, text)
	}
}
