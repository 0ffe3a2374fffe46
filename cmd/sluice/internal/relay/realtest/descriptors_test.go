//go:build linux

package realtest

import (
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
)

// Connections that say nothing take all descriptors of a server that has few. Those of a port give way to
// others, and the server answers.
func TestFewDescriptors(t *testing.T) {
	s := serve(t, options{
		flags: strings.Fields("--max-handshakes 2000 --max-handshakes-per-address 2000"),
		under: []string{"sh", "-c", `ulimit -n 256 && exec "$0" "$@"`},
	})
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
