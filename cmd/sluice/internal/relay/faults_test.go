package relay

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/flv"
)

// A fault of the server, here one of its log, ends the session or the output of one stream in which it comes about. All
// else goes on, and the log and the metrics say so.
func TestFaultsAreContained(t *testing.T) {
	const key = "\x17\x01\x00\x00\x00\x00\x00\x00\x02\x65\x01"
	contain.InTest(t)
	before := contain.Faults()
	// What a publisher's frame had is lost.
	s := startRelayOf(t, func(c *relayConfig) { c.RTMP = "127.0.0.1:0" })
	well := s.publishing(t, "/live/well.flv")
	clip := flvtest.Clip(t)
	well.send(t, clip[:len(clip)/2]...)
	part := "pictures before their sequence header are left out"
	s.log.fault.Store(&part)

	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Tag{Type: flv.TagVideo, Payload: key})
	s.log.line(t, "publisher ended", "stream=live/s", "a fault of the server")
	x := rtmpPush(t, s.Server, "rtmp", "live", "r")
	if err := x.send([]rtmpFrame{{Type: flv.TagVideo, Body: key}}); err != nil {
		t.Fatal(err)
	}
	s.log.line(t, "publisher ended", "stream=live/r", "a fault of the server")
	s.log.fault.Store(nil)

	// Their names are free, and all else goes on.
	again := s.publishing(t, "/live/s.flv")
	again.send(t, clip...)
	s.awaitStream(t, "live/s")
	well.send(t, clip[len(clip)/2:]...)
	for _, p := range []*relayPipe{again, well} {
		p.Close()
		p.answered(t)
	}
	if n := contain.Faults() - before; n != 2 {
		t.Errorf("%d faults", n)
	}
	if _, text := s.get(t, "/metrics"); !strings.Contains(text, "\nsluice_faults_total ") || !strings.Contains(text, `sluice_session_ends_total{reason="fault",role="publisher"} 2`) {
		t.Error(text)
	}
	s.log.line(t, "level=ERROR", "please report it", "pictures.go")
}

// One in what is made of a stream leaves the stream, and is made again.
func TestFaultsOfOutputsLeaveTheStream(t *testing.T) {
	const (
		aac   = "\xaf\x00\x12\x10"
		sound = "\xaf\x01\x21\x10\x04\x60\x8c\x1c"
		old   = "\x12\x00" // a key frame of Sorenson's H.263
	)
	contain.InTest(t)
	before := contain.Faults()
	s := startRelay(t, func(c *relayConfig) { c.Record, c.RecordFormat = t.TempDir(), "flv" })
	fault := func(part string) { s.log.fault.Store(&part) }
	fault("msg=recording ")
	p := s.publishing(t, "/live/s.flv")
	at := uint32(0)
	send := func() {
		p.send(t, flvtest.Tag{Type: flv.TagVideo, Time: at, Payload: old}, flvtest.Tag{Type: flv.TagAudio, Time: at, Payload: sound})
		at += 500
	}
	p.send(t, flvtest.Tag{Type: flv.TagAudio, Payload: aac})
	for range 10 {
		send()
	}
	s.log.line(t, "recording failed", "a fault of the server")
	fault("browsers do not play by HLS")
	if status, _ := s.get(t, "/live/s.m3u8"); status == 200 {
		t.Error("there is a playlist")
	}
	s.log.line(t, "HLS ends", "a fault of the server")
	s.log.fault.Store(nil)
	send()
	relayEventually(t, "HLS again", func() bool {
		status, _ := s.get(t, "/live/s.m3u8")
		return status == 200
	})
	s.log.line(t, "msg=recording ")
	p.Close()
	p.answered(t)
	s.log.line(t, "msg=recorded ")
	if n := contain.Faults() - before; n != 2 {
		t.Errorf("%d faults", n)
	}
}
