//go:build linux

package realtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// What idle sessions take of the heap and of stacks has a limit, of which the kernel's part
// and what the collector has not given back are left out: BenchmarkIdle has those.
func TestIdleSessionsAreSmall(t *testing.T) {
	if !measured() {
		t.Skip("the race detector and invariants allocate too: sizes are not those of production")
	}
	for _, c := range []struct {
		name     string
		most     int // bytes for each
		sessions int // so many that what the server itself takes meanwhile is little for each
		open     func(s *server, n int) io.Closer
	}{
		{"rtmp-viewer", 2800, 1000, func(s *server, _ int) io.Closer { return rtmpViewerIdle(t, s) }},
		{"flv-viewer", 2200, 1000, func(s *server, _ int) io.Closer { return flvViewerIdle(t, s) }},
		{"rtmp-publisher", 36000, 250, func(s *server, n int) io.Closer { return silentStream(t, s, fmt.Sprint("p", n)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			const warm = 50
			// A silent publisher is ended after some seconds, its stream and the viewers stay.
			s := serve(t, flags("--log-level error --max-streams 0 --max-streams-per-address 0 --max-viewers 0 --max-viewers-per-address 0 --min-publish-rate 0 --grace 10m --pprof 127.0.0.1:0"))
			stream := silentStream(t, s, "s")
			defer stream.Close()
			before := 0
			for n := range warm + c.sessions {
				if n == warm {
					before = s.inUse(t)
				}
				defer c.open(s, n).Close()
			}
			got := 0
			eventually(t, lengthened(15*time.Second), func() string { // those of the handshakes have to end
				if got = (s.inUse(t) - before) / c.sessions; got > c.most {
					return fmt.Sprintf("%d bytes each, at most %d", got, c.most)
				}
				return ""
			})
			t.Logf("%d bytes each", got)
		})
	}
}

var inUse = regexp.MustCompile(`# (HeapAlloc|Stack) = (\d+)`)

// inUse is how many bytes of heap and stacks the server uses, after a collection.
func (s *server) inUse(t testing.TB) (sum int) {
	t.Helper()
	resp, err := http.Get("http://" + s.PProf + "/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	found := inUse.FindAllSubmatch(text, -1)
	if err != nil || len(found) != 2 {
		t.Fatalf("%v: %d bytes, in which the figures are not", err, len(text))
	}
	for _, f := range found {
		n, err := strconv.Atoi(string(f[2]))
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

func rtmpViewerIdle(t testing.TB, s *server) io.Closer {
	t.Helper()
	conn, c := rtmpIdle(t, s)
	if err := c.Play("s"); err != nil {
		t.Fatal(err)
	}
	return conn
}

func flvViewerIdle(t testing.TB, s *server) io.Closer {
	t.Helper()
	conn, err := net.Dial("tcp", s.HTTP)
	if err == nil {
		_, err = io.WriteString(conn, "GET /live/s.flv HTTP/1.1\r\nHost: a\r\nUser-Agent: a\r\n\r\n")
	}
	if err == nil {
		_, err = conn.Read(make([]byte, 1000))
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
