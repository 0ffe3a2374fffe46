package relay

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/flv"
)

// AV1 whose configuration has no sequence header is in HLS and in recordings: key frames have it.
func TestAV1WithSequenceHeadersInKeyFramesAlone(t *testing.T) {
	s, _ := startRecording(t, nil)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Tag{Type: flv.TagVideo, Payload: "\x90av01\x81\x00\x0c\x00"})
	for at := uint32(0); at <= 8000; at += 100 {
		frame := "\xa1av01\x12\x00\x32\x02\x08\x09"
		if at%2000 == 0 {
			frame = "\x91av01\x12\x00\x0a\x0d\x20\x00\x00\x03\xb4\xff\x73\x6b\xe4\x80\x86\x80\x10\x32\x02\x08\x09"
		}
		p.send(t, flvtest.Tag{Type: flv.TagVideo, Time: at, Payload: frame})
	}
	s.awaitStream(t, "live/s")
	status, text := s.get(t, "/live/s.m3u8")
	if status != 200 || !strings.Contains(text, `CODECS="av01.1.00M.08"`) {
		t.Errorf("HLS: %d %s", status, text)
	}
	p.Close()
	if a := p.answered(t); a.err != nil || a.status != 200 {
		t.Fatalf("%d: %v", a.status, a.err)
	}
	s.log.line(t, "msg=recorded", "bytes=")
	list := s.recordings(t, "")
	if len(list) != 1 || list[0].LengthMS < 7900 {
		t.Errorf("%+v", list)
	}
	if text := s.log.String(); strings.Contains(text, "left out") {
		t.Error(text)
	}
}
