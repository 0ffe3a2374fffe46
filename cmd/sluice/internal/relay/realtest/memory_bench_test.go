//go:build linux

package realtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	library "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// BenchmarkIdle says how much resident memory a session takes whose stream is
// silent: of 2,000, above the first 200. Run it with -benchtime 1x.
func BenchmarkIdle(b *testing.B) {
	for name, one := range map[string]func(b *testing.B, s *server, n int) io.Closer{
		"rtmp-viewer":    func(b *testing.B, s *server, _ int) io.Closer { return rtmpViewerIdle(b, s) },
		"flv-viewer":     func(b *testing.B, s *server, _ int) io.Closer { return flvViewerIdle(b, s) },
		"rtmp-publisher": func(b *testing.B, s *server, n int) io.Closer { return silentStream(b, s, fmt.Sprint("p", n)) },
	} {
		b.Run(name, func(b *testing.B) {
			const warm, sessions = 200, 2000
			for range b.N {
				s := serve(b, flags("--log-level error --max-streams 0 --max-streams-per-address 0 --min-publish-rate 0 --pprof 127.0.0.1:0"))
				open := []io.Closer{silentStream(b, s, "s")}
				before := 0
				for n := range warm + sessions {
					if n == warm {
						before = settled(b, s)
					}
					open = append(open, one(b, s, n))
				}
				b.ReportMetric(float64(settled(b, s)-before)/sessions, "B/session")
				for _, c := range open {
					c.Close()
				}
			}
		})
	}
}

// settled is the resident memory after garbage collections.
func settled(b *testing.B, s *server) int {
	b.Helper()
	for range 2 {
		resp, err := http.Get("http://" + s.PProf + "/debug/pprof/heap?gc=1")
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		<-time.After(time.Second)
	}
	return resident(b, s.PID)
}

func rtmpIdle(b testing.TB, s *server) (net.Conn, *rtmp.Conn) {
	b.Helper()
	conn, err := net.Dial("tcp", s.RTMP)
	if err != nil {
		b.Fatal(err)
	}
	c := rtmp.NewConn(library.NewBufReader(conn), library.NewBufWriter(conn), rtmp.Options{})
	if err = c.ClientHandshake(); err == nil {
		err = c.Connect(rtmp.ConnectOptions{App: "live"})
	}
	if err != nil {
		b.Fatal(err)
	}
	return conn, c
}

// silentStream publishes a stream of some audio, and then nothing.
func silentStream(b testing.TB, s *server, name string) io.Closer {
	b.Helper()
	conn, c := rtmpIdle(b, s)
	err := c.Publish(name)
	for i, body := range []string{"\xaf\x00\x11\x90", "\xaf\x01abcdefgh", "\xaf\x01abcdefgh"} {
		if err == nil {
			err = c.WriteMessage(rtmp.Message{Type: rtmp.TypeAudio, StreamID: c.StreamID(), Time: uint32(20 * i), Payload: mem.Wrap([]byte(body), nil)})
		}
	}
	if err == nil {
		err = c.Flush()
	}
	if err != nil {
		b.Fatal(err)
	}
	return conn
}
