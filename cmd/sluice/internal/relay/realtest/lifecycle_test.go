//go:build linux

package realtest

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// SIGTERM: no new session is admitted, and the active ones get their pending data
// before the program ends with success.
func TestTermDrains(t *testing.T) {
	t.Parallel()
	o := replaceable()
	o.flags = append(o.flags, "--grace", "0", "--merge", "350ms")
	s := serve(t, o)
	p := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	f := feedTo(t, p, pace{})
	s.awaitLive(t, "live/s")
	viewers := []*viewer{s.view(t, "flv", "s", ""), s.view(t, "rtmp", "s", ""), s.view(t, "ws", "s", "")}
	for _, v := range viewers {
		v.awaitMedia(t, 50)
	}
	published := f.published()
	s.awaitFrames(t, "live/s", len(published))
	s.signal(t, syscall.SIGTERM)
	for _, v := range viewers {
		v.awaitEOF(t)
	}
	if code := s.wait(t, lengthened(10*time.Second)); code != 0 {
		t.Errorf("the server ended with %d: %s", code, s.stderr.tail(10))
	}
	f.stop()
	for _, v := range viewers {
		got := v.media()
		checkRun(t, v.name, got, f.published())
		// What was published before the signal has reached the server, but for as many packets as
		// there are headers, which count too.
		if last := got[len(got)-1]; last.Time+100 < published[len(published)-1].Time {
			t.Errorf("%s ended at %d ms, published was up to %d ms", v.name, last.Time, published[len(published)-1].Time)
		}
	}
	for _, address := range []string{s.HTTP, s.RTMP} {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Errorf("somebody still listens at %s", address)
		}
	}
}

const (
	endedBySignal = 3               // exit code after a second signal
	drainTime     = 5 * time.Second // that sessions have after the first
)

// A second SIGTERM ends what the first one waits for: here viewers that do not
// read.
func TestSecondTermEnds(t *testing.T) {
	t.Parallel()
	s := serve(t, replaceable())
	p := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	feedTo(t, p, pace{unpaced: true, pad: 50_000})
	s.awaitLive(t, "live/s")
	v := s.view(t, "flv", "s", "")
	v.awaitMedia(t, 10)
	close(v.pause)
	<-v.done
	// More than the sockets on the way to the viewer hold.
	s.awaitFrames(t, "live/s", 300)
	first := time.Now()
	s.signal(t, syscall.SIGTERM)
	eventually(t, lengthened(5*time.Second), func() string {
		if conn, err := net.Dial("tcp", s.HTTP); err == nil {
			conn.Close()
			return "it still listens after the first signal"
		}
		return ""
	})
	s.cmd.Process.Signal(syscall.SIGTERM)
	// By itself it would end after some seconds: so may it on a machine that stands still.
	code := s.wait(t, lengthened(2*time.Second))
	took := time.Since(first)
	t.Logf("ended %v after the first signal with %d", took.Round(time.Millisecond), code)
	if code != endedBySignal && took < drainTime {
		t.Errorf("the second signal did not end it: %d after %v", code, took)
	}
}

// The server is restarted while ffmpeg publishes and ffmpeg watches, both of
// which try again; they find the new one.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := serve(t, replaceable())
	// ffmpeg's fifo muxer opens its output anew when it breaks.
	pushed := ffmpeg(t, "-loglevel", "warning", "-re", "-stream_loop", "-1", "-i", clipFile(t), "-map", "0", "-c", "copy",
		"-f", "fifo", "-fifo_format", "flv", "-drop_pkts_on_overflow", "1", "-attempt_recovery", "1", "-recovery_wait_time", "0.5",
		"-recover_any_error", "1", "rtmp://"+s.RTMP+"/live/s")
	s.awaitLive(t, "live/s")
	pulled := ffmpeg(t, "-loglevel", "info", "-reconnect", "1", "-reconnect_streamed", "1", "-reconnect_at_eof", "1",
		"-reconnect_on_network_error", "1", "-reconnect_on_http_error", "404,503", "-reconnect_delay_max", "2",
		"-i", "http://"+s.HTTP+"/live/s.flv?wait=20", "-map", "0", "-c", "copy", "-f", "null", "-")
	s.awaitViewers(t, "live/s", 1, lengthened(10*time.Second))
	v := s.view(t, "rtmp", "s", "")
	v.awaitMedia(t, 50)

	s.signal(t, syscall.SIGTERM)
	if code := s.wait(t, lengthened(10*time.Second)); code != 0 {
		t.Fatalf("the server ended with %d", code)
	}
	again := serve(t, options{flags: []string{"--rtmp", s.RTMP, "--http", s.HTTP}})
	eventually(t, lengthened(30*time.Second), func() string {
		if pushed.ended() || pulled.ended() {
			t.Fatalf("ffmpeg ended: %s\n%s", pushed.stderr.tail(10), pulled.stderr.tail(10))
		}
		if info := again.stream(t, "live/s"); info == nil || info.State != "live" || info.FramesIn == 0 {
			return "the publisher is not back: " + pushed.stderr.tail(3)
		}
		return ""
	})
	v = again.view(t, "rtmp", "s", "")
	v.awaitMedia(t, 50)
	again.awaitViewers(t, "live/s", 2, lengthened(30*time.Second))
}

// A viewer and a publisher are thrown out through the API; the others stay.
func TestKick(t *testing.T) {
	t.Parallel()
	s := serve(t, options{})
	p := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	f := feedTo(t, p, pace{})
	s.awaitLive(t, "live/s")
	stays := s.view(t, "flv", "s", "")
	stays.awaitMedia(t, 1)
	goes := s.view(t, "rtmp", "s", "")
	goes.awaitMedia(t, 1)
	ids := map[string]string{}
	for _, c := range s.clients(t) {
		ids[c.Protocol+" "+c.Role] = c.ID
	}
	if len(ids) != 3 {
		t.Fatalf("the API has %v", ids)
	}
	s.kick(t, ids["rtmp viewer"], http.StatusNoContent)
	s.kick(t, "v999", http.StatusNotFound)
	goes.awaitEnd(t)
	stays.awaitMedia(t, len(stays.media())+20)
	checkRun(t, stays.name, stays.media(), f.published())
	f.stop()
	s.kick(t, ids["flv publisher"], http.StatusNoContent)
	receive(t, lengthened(5*time.Second), "end of the publisher", p.result)
	eventually(t, lengthened(5*time.Second), func() string {
		if left := s.clients(t); len(left) != 1 {
			return "the API has others than the viewer who stays"
		}
		return ""
	})
}

func (s *server) kick(t *testing.T, id string, want int) {
	t.Helper()
	resp := s.api(t, http.MethodDelete, "/api/clients/"+id)
	resp.Body.Close()
	if resp.StatusCode != want {
		t.Errorf("DELETE of %q: %s, want %d", id, resp.Status, want)
	}
}

// Who cannot listen says so in one line and ends.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	s := serve(t, options{})
	for _, c := range []struct{ flag, address string }{{"--rtmp", s.RTMP}, {"--http", s.HTTP}} {
		p := start(t, nil, sluice(t), "serve", "--rtmp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rtsp", "off", "--webrtc", "off", "--srt", "off", c.flag, c.address)
		if code := p.wait(t, lengthened(10*time.Second)); code != 1 {
			t.Errorf("%s %s: exit code %d", c.flag, c.address, code)
		}
		says := p.stdout.String() + p.stderr.String()
		if strings.Count(says, "\n") != 1 || !strings.Contains(says, c.address) || !strings.Contains(says, "in use") {
			t.Errorf("%s %s says %q", c.flag, c.address, says)
		}
	}
}
