package relay

import (
	"errors"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtmp"
)

// rtmpIdle waits until no goroutine waits for what a viewer sends.
func rtmpIdle(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return // a goroutine reads there
	}
	stacks := make([]byte, 4<<20)
	rtmpUntil(t, "no goroutine reads from viewers", func() bool {
		all := string(stacks[:runtime.Stack(stacks, true)])
		return !strings.Contains(all, "rtmpserver.(*inbound)") && !strings.Contains(all, "rtmpserver.(*peer).admitViewer")
	})
}

// write sends bytes, one at a time.
func (x *rtmpClient) write(t *testing.T, p []byte) {
	t.Helper()
	for i := range p {
		if _, err := x.conn.Write(p[i : i+1]); err != nil {
			t.Fatal(err)
		}
		if i%7 == 0 {
			rtmpIdle(t) // within a header too
		}
	}
}

// A viewer that has been silent, so that nothing waits for it, is understood as ever.
func TestRTMPViewerAfterAnIdleTime(t *testing.T) {
	gone := func(t *testing.T, s *Server, v *rtmpClient) {
		if _, _, err := v.receive(math.MaxInt); err == nil {
			t.Error("it is still served")
		}
		rtmpUntil(t, "the viewer is gone", func() bool {
			return s.host.Gate.Usage().Viewers == 0 && s.host.Register.Number(session.RoleViewer) == 0
		})
	}
	command := func(t *testing.T, v *rtmpClient, name string, number float64, args ...amf0.Value) {
		t.Helper()
		err := v.c.WriteCommand(1, name, number, append([]amf0.Value{nil}, args...)...)
		if err = errors.Join(err, v.c.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	status := func(t *testing.T, v *rtmpClient, want string) {
		t.Helper()
		if code, err := v.status(); code != want || err != nil {
			t.Errorf("status %q, %v, want %q", code, err, want)
		}
	}
	for name, f := range map[string]func(t *testing.T, s *Server, p, v *rtmpClient){
		"leaves": func(t *testing.T, s *Server, _, v *rtmpClient) {
			v.close()
			gone(t, s, v)
		},
		"resets": func(t *testing.T, s *Server, _, v *rtmpClient) {
			v.conn.(*net.TCPConn).SetLinger(0)
			v.close()
			gone(t, s, v)
		},
		"deletes its stream": func(t *testing.T, s *Server, _, v *rtmpClient) {
			command(t, v, "deleteStream", 0, 1.0)
			gone(t, s, v)
		},
		"sends garbage": func(t *testing.T, s *Server, _, v *rtmpClient) {
			v.conn.Write([]byte(strings.Repeat("\xff\x7fgarbage", 100)))
			gone(t, s, v)
		},
		"half a message, and leaves": func(t *testing.T, s *Server, _, v *rtmpClient) {
			v.write(t, append(rtmp.AppendChunkHeader(nil, 3, rtmp.TypeCommandAMF0, 0, 0, 100), "half"...))
			rtmpIdle(t)
			v.close()
			gone(t, s, v)
		},
		"is kicked": func(t *testing.T, s *Server, _, v *rtmpClient) {
			for _, c := range s.host.Register.List() {
				if c.Role == session.RoleViewer {
					c.Stop(session.ErrKicked)
				}
			}
			gone(t, s, v)
		},
		"its stream ends": func(t *testing.T, s *Server, p, v *rtmpClient) {
			p.close()
			if _, code, err := v.receive(math.MaxInt); code != "NetStream.Play.Stop" || !errors.Is(err, io.EOF) {
				t.Errorf("the end is %q, %v", code, err)
			}
			v.close()
			gone(t, s, v)
		},
		"pauses": func(t *testing.T, _ *Server, p, v *rtmpClient) {
			command(t, v, "pause", 0, true, 0.0)
			status(t, v, "NetStream.Pause.Notify")
			rtmpIdle(t)
			if err := p.send(rtmpClip()[10:20]); err != nil {
				t.Fatal(err)
			}
			command(t, v, "pause", 0, false, 0.0)
			status(t, v, "NetStream.Unpause.Notify")
		},
		"a byte at a time": func(t *testing.T, _ *Server, _, v *rtmpClient) {
			p, err := rtmp.AppendCommand(nil, "seek", 0, nil, 5.0)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				v.write(t, append(rtmp.AppendChunkHeader(nil, 3, rtmp.TypeCommandAMF0, 1, 0, len(p)), p...))
				status(t, v, "NetStream.Seek.Failed")
			}
		},
		"headers refer to those before": func(t *testing.T, _ *Server, _, v *rtmpClient) {
			for range 3 { // the client writes shorter headers from the second on
				command(t, v, "seek", 0, 5.0)
				status(t, v, "NetStream.Seek.Failed")
				rtmpIdle(t)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, p, v := rtmpWatched(t, "rtmp", 10)
			rtmpIdle(t)
			f(t, s, p, v)
		})
	}
}

// What a viewer sends in one piece with its request is not forgotten.
func TestRTMPViewerSaysMoreWithItsRequest(t *testing.T) {
	s, _, _ := rtmpWatched(t, "rtmp", 10)
	for range 20 {
		v := rtmpDial(t, s, "rtmp", "live")
		err := errors.Join(
			v.c.WriteCommand(0, "createStream", 2, nil),
			v.c.WriteCommand(1, "play", 0, nil, "s", -2000.0),
			v.c.WriteCommand(1, "seek", 0, nil, 5.0),
			v.c.Flush(),
		)
		for code := ""; err == nil && code != "NetStream.Seek.Failed"; {
			code, err = v.status()
		}
		if err != nil {
			t.Fatal(err)
		}
		v.close()
	}
}

// Viewers that say nothing have no goroutines, and their server ends all the same.
func TestRTMPIdleViewersHaveNoGoroutines(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("without epoll each viewer has a goroutine that reads")
	}
	const viewers = 40
	s, _, _ := rtmpWatched(t, "rtmp", 10)
	before := runtime.NumGoroutine()
	for range viewers {
		v := rtmpDial(t, s, "rtmp", "live")
		if err := v.c.Play("s"); err != nil {
			t.Fatal(err)
		}
	}
	rtmpUntil(t, "they are there", func() bool { return rtmpViewers(s, "live/s") == viewers+1 })
	rtmpUntil(t, "their goroutines have ended", func() bool { return runtime.NumGoroutine() < before+viewers/4 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
