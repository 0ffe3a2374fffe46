//go:build linux

package realtest

import (
	"testing"
	"time"
)

// Every way in against every way out: what ffmpeg pushes comes out whole and
// with its times, when the pull was there first.
func TestEveryWayInAndOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		url   func(s *server) string
		input []string
	}{
		{"RTMP", func(s *server) string { return "rtmp://" + s.RTMP + "/live/s" }, nil},
		{"RTMPS", func(s *server) string { return "rtmps://" + s.RTMPS + "/live/s" }, nil},
		{"HTTP-FLV", func(s *server) string { return "http://" + s.HTTP + "/live/s.flv" }, nil},
		{"RTMP in real time", func(s *server) string { return "rtmp://" + s.RTMP + "/live/s" }, []string{"-re"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, options{flags: []string{"--grace", "0"}, tls: true})
			want := clipCRC(t)
			// The server answers these when there is a stream.
			sockets := []*viewer{s.view(t, "ws", "s", "wait=60"), s.view(t, "wss", "s", "wait=60")}
			pulls := map[string]*process{
				"RTMP":     pull(t, "rtmp://"+s.RTMP+"/live/s?wait=60"),
				"RTMPS":    pull(t, "rtmps://"+s.RTMPS+"/live/s?wait=60"),
				"HTTP-FLV": pull(t, "http://"+s.HTTP+"/live/s.flv?wait=60"),
			}

			p := push(t, clipFile(t), c.url(s), c.input...)
			if code := p.wait(t, lengthened(30*time.Second)); code != 0 {
				t.Fatalf("the push ended with %d: %s", code, p.stderr.tail(10))
			}
			for way, pulled := range pulls {
				if code := pulled.wait(t, lengthened(20*time.Second)); code != 0 {
					t.Errorf("%s: ffmpeg ended with %d: %s", way, code, pulled.stderr.tail(10))
					continue
				}
				if diff := parseCRC(t, pulled.stdout.String()).fromZero().differ(want); diff != "" {
					t.Errorf("%s: %s", way, diff)
				}
			}
			for _, v := range sockets {
				v.awaitEOF(t)
				checkClip(t, v)
			}
		})
	}
}

// checkClip holds what a client of ours got of a push of the clip by ffmpeg
// against the clip: the same packets, and times that differ from the clip's by
// the same amount throughout.
func checkClip(t *testing.T, v *viewer) {
	t.Helper()
	var want []digest
	for _, g := range clip() {
		if g.media() {
			want = append(want, g.digest())
		}
	}
	got := v.media()
	for _, kind := range []byte{tagVideo, tagAudio} {
		g, w := only(got, kind), only(want, kind)
		if len(g) != len(w) {
			t.Errorf("%s: %d packets of type %d, want %d", v.name, len(g), kind, len(w))
			continue
		}
		for i := range g {
			if g[i].Sum != w[i].Sum || g[i].Size != w[i].Size || g[i].Time-got[0].Time != w[i].Time-want[0].Time {
				t.Errorf("%s: packet %d of type %d is %+v, want %+v", v.name, i, kind, g[i], w[i])
				break
			}
		}
	}
}

func only(all []digest, kind byte) []digest {
	var some []digest
	for _, d := range all {
		if d.Type == kind {
			some = append(some, d)
		}
	}
	return some
}

// What goes in over HTTP comes out over HTTP and WebSocket tag by tag as it
// was, sequence headers, metadata and the end of the sequence included.
func TestTagsComeOutAsTheyWent(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"POST", "PUT"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			s := serve(t, flags("--grace 0"))
			p := publishHTTP(t, method, "http://"+s.HTTP+"/live/s.flv")
			var viewers []*viewer
			var want []digest
			began := false
			for _, g := range clip() {
				switch {
				case g.media() && viewers == nil:
					viewers = []*viewer{s.view(t, "flv", "s", "wait=30"), s.view(t, "ws", "s", "wait=30"), s.view(t, "flv", "s", "wait=30&merge=0")}
					s.awaitViewers(t, "live/s", len(viewers), lengthened(10*time.Second))
				case viewers != nil && !began:
					// All begin with the same key frame before the others come.
					began = true
					for _, v := range viewers {
						v.awaitMedia(t, 1)
					}
				}
				if err := p.send(g); err != nil {
					t.Fatal(err)
				}
				want = append(want, g.digest())
			}
			if err := p.end(t); err != nil {
				t.Errorf("the answer to what was published: %v", err)
			}
			for _, v := range viewers {
				v.awaitEOF(t)
				got := v.tags()
				if len(got) != len(want) {
					t.Errorf("%s got %d tags of %d", v.name, len(got), len(want))
					continue
				}
				for i := range got {
					if got[i] != want[i] {
						t.Errorf("%s: tag %d is %+v, was %+v", v.name, i, got[i], want[i])
						break
					}
				}
			}
		})
	}
}
