package relay

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/flv"
)

// Pictures before their sequence header are left out for all viewers, and the log says so, once for a publisher. HLS
// does not say to encode H.264, which they are.
func TestPicturesBeforeTheirSequenceHeaderAreLogged(t *testing.T) {
	const (
		header  = "\x17\x00\x00\x00\x00\x01\x42\x00\x1e\xff\xe1\x00\x04\x67\x01\x02\x03\x01\x00\x02\x68\x01"
		key     = "\x17\x01\x00\x00\x00\x00\x00\x00\x02\x65\x01"
		aac     = "\xaf\x00\x12\x10"
		sound   = "\xaf\x01\x21\x10\x04\x60\x8c\x1c"
		leftOut = "pictures before their sequence header are left out"
	)
	s := startRelay(t, func(c *relayConfig) { c.RTMP = "127.0.0.1:0" })
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Tag{Type: flv.TagAudio, Payload: aac})
	for at := uint32(0); at <= 4000; at += 500 {
		p.send(t, flvtest.Tag{Type: flv.TagVideo, Time: at, Payload: key}, flvtest.Tag{Type: flv.TagAudio, Time: at, Payload: sound})
	}
	line := s.log.line(t, leftOut, "stream=live/s")
	if !strings.Contains(line, "codec=avc1") || !strings.Contains(line, "protocol=flv") {
		t.Error(line)
	}
	_, r := s.playing(t, "/live/s.flv")
	for tag := (flvtest.Tag{}); tag.Time < 4000; {
		var err error
		if tag, err = r.Next(); err != nil || tag.Type == flv.TagVideo {
			t.Fatalf("a viewer gets %q, %v", tag.Payload, err)
		}
	}
	if status, _ := s.get(t, "/live/s.m3u8"); status != 200 {
		t.Errorf("HLS: %d", status)
	}
	p.Close()
	p.answered(t)

	p = s.publishing(t, "/live/other.flv")
	p.send(t, flvtest.Tag{Type: flv.TagVideo, Payload: header}, flvtest.Tag{Type: flv.TagVideo, Payload: key})
	s.awaitStream(t, "live/other")
	p.Close()
	p.answered(t)
	text := s.log.String()
	if strings.Count(text, leftOut) != 1 || strings.Contains(text, "encode H.264") {
		t.Error(text)
	}

	x := rtmpPush(t, s.Server, "rtmp", "live", "r")
	if err := x.send([]rtmpFrame{{Type: flv.TagVideo, Body: key}}); err != nil {
		t.Fatal(err)
	}
	s.log.line(t, leftOut, "protocol=rtmp", "stream=live/r")
}
