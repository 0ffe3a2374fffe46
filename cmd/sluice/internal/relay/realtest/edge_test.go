//go:build linux

package realtest

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// An edge fetches a stream once, however many watch it there, gives them what
// they would have got from the origin, and lets go when they have left.
func TestEdge(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"rtmp", "http"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			origin := serve(t, options{})
			address := "rtmp://" + origin.RTMP
			if way == "http" {
				address = "http://" + origin.HTTP
			}
			edge := serve(t, flags("--origin "+address))
			var code *status
			if _, err := playHTTP(dial(t, edge.HTTP, false), "/live/nosuch.flv"); !errors.As(err, &code) || code.code != http.StatusNotFound {
				t.Errorf("a stream that the origin does not have: %v", err)
			}

			p := publishHTTP(t, "POST", "http://"+origin.HTTP+"/live/s.flv")
			f := feedTo(t, p, pace{})
			origin.awaitLive(t, "live/s")
			viewers := []*viewer{
				edge.view(t, "flv", "s", ""), edge.view(t, "rtmp", "s", ""), edge.view(t, "ws", "s", ""),
			}
			var pulls []*process
			for _, url := range []string{"rtmp://" + edge.RTMP + "/live/s", "http://" + edge.HTTP + "/live/s.flv"} {
				pulls = append(pulls, ffmpeg(t, "-loglevel", "error", "-t", "2", "-i", url, "-map", "0", "-c", "copy", "-f", "framecrc", "-"))
			}
			for _, pulled := range pulls {
				if code := pulled.wait(t, lengthened(20*time.Second)); code != 0 {
					t.Errorf("ffmpeg: %d: %s", code, pulled.stderr.tail(10))
				} else if got := parseCRC(t, pulled.stdout.String()); len(got.video) < 50 || len(got.audio) < 70 {
					t.Errorf("ffmpeg got %d video and %d audio packets in 2 s", len(got.video), len(got.audio))
				}
			}
			if info := origin.stream(t, "live/s"); info.Viewers != 1 {
				t.Errorf("the origin has %d viewers, the edge should be one", info.Viewers)
			}
			checkViewers(t, f, viewers)
			again := feedTo(t, p, pace{})
			for _, v := range viewers {
				v.conn.Close()
			}
			origin.awaitViewers(t, "live/s", 0, lengthened(20*time.Second))
			again.finish(t)
		})
	}
}

// The origin is gone for a while, and then there without the stream, as it is
// until the encoder has come back; who watches at the edge stays and goes on.
func TestOriginRestarts(t *testing.T) {
	t.Parallel()
	origin := serve(t, replaceable())
	edge := serve(t, flags("--grace 100ms --origin rtmp://127.0.0.1:1,rtmp://"+origin.RTMP))
	p := publishHTTP(t, "POST", "http://"+origin.HTTP+"/live/s.flv")
	feedTo(t, p, pace{})
	origin.awaitLive(t, "live/s")
	viewers := []*viewer{edge.view(t, "flv", "s", ""), edge.view(t, "rtmp", "s", "")}
	for _, v := range viewers {
		v.awaitMedia(t, 50)
	}
	origin.kill()

	again := serve(t, options{flags: []string{"--rtmp", origin.RTMP, "--http", origin.HTTP}})
	eventually(t, lengthened(20*time.Second), func() string {
		if len(edge.stderr.matches(`lost the origin.*does not have the stream`)) == 0 {
			return "the edge has not been told that there is no such stream"
		}
		return ""
	})
	p = publishHTTP(t, "POST", "http://"+again.HTTP+"/live/s.flv")
	feedTo(t, p, pace{})
	for _, v := range viewers {
		before := len(v.media())
		eventually(t, lengthened(30*time.Second), func() string {
			if len(v.media()) < before+60 {
				return v.name + " gets nothing after the origin came back"
			}
			return ""
		})
		checkSteady(t, v)
	}
}
