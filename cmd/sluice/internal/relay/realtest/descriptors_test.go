//go:build linux

package realtest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Connections that say nothing take all descriptors of a server that has few. Those of a port give way to
// others, and the server answers.
func TestFewDescriptors(t *testing.T) {
	s := serve(t, options{
		flags: strings.Fields("--max-handshakes 2000 --max-handshakes-per-address 2000"),
		under: []string{"sh", "-c", `ulimit -n 256 && exec "$0" "$@"`},
	})
	if n := strings.Count(s.stderr.String(), "descriptors=256"); n != 1 {
		t.Errorf("%d lines of the log say that there are few", n)
	}
	for _, address := range []string{s.HTTP, s.RTMP, s.RTSP} {
		for range 200 {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
	}
	displaced := regexp.MustCompile(`(?m)^sluice_(\w+)_handshakes_displaced_total [1-9]`)
	resp := s.api(t, "GET", "/metrics")
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !displaced.Match(text) {
		t.Error("the server answers only once those that are silent have had all their time")
	}
}

// Viewers, and clients that wait for a stream, leave descriptors for a publisher and for the API, by
// which they can be ended.
func TestViewersLeaveDescriptors(t *testing.T) {
	s := serve(t, options{under: []string{"sh", "-c", `ulimit -n 256 && exec "$0" "$@"`}})
	feedTo(t, publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv"), pace{})
	s.awaitLive(t, "live/s")
	refused := 0
	for i := range 300 {
		conn, err := net.DialTimeout("tcp", s.HTTP, lengthened(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		path := "/live/s.flv"
		if i%2 == 0 {
			path = "/live/absent.flv?wait=60"
		}
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			continue
		}
		until(conn, lengthened(time.Second))
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("viewer %d: %v", i, err)
		}
		if answer.StatusCode == http.StatusServiceUnavailable {
			refused++
		}
	}
	if refused < 20 || refused > 130 {
		t.Errorf("%d of 150 viewers were refused", refused)
	}
	// One that the crowd's last connections keep out comes again, as encoders do.
	var p *post
	eventually(t, lengthened(15*time.Second), func() string {
		if p != nil {
			select {
			case <-p.result:
				p = nil
			default:
			}
		}
		if p == nil {
			p = publishHTTP(t, "POST", "http://"+s.HTTP+"/live/other.flv")
			feedTo(t, p, pace{})
		}
		if info := s.stream(t, "live/other"); info == nil || info.State != "live" {
			return "live/other is not live"
		}
		return ""
	})
}
