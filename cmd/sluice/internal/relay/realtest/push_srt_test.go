//go:build linux

package realtest

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
)

// A stream is pushed by SRT to ffmpeg and to GStreamer, which listen with libsrt; ffmpeg's is
// encrypted. Pictures are decoded. Another relay refuses another passphrase.
func TestPushBySRTToListeners(t *testing.T) {
	long(t, "TestPushBySRT has it with a second relay")
	t.Parallel()
	const passphrase = "a-passphrase-of-a-test"
	first, second := loopback.Free(t), loopback.Free(t)
	far := serve(t, options{flags: strings.Fields("--webrtc off"), env: []string{"SLUICE_SRT_PASSPHRASE=" + passphrase}})
	s := serve(t, flags("--webrtc off --srt off --push live/*=srt://"+first+"?passphrase="+passphrase+"&latency=1000,live/*=srt://"+second+"?streamid=live/*"+
		",live/*=srt://"+far.SRT+"?streamid=publish:live/*&passphrase=another-passphrase"))
	a := ffmpeg(t, "-loglevel", "verbose", "-passphrase", passphrase, "-i", "srt://"+first+"?mode=listener&"+srtLatency, "-analyzeduration", "1000000", "-map", "0", "-frames:v", "60", "-f", "null", "-")
	b := start(t, nil, tool(t, "gst-launch-1.0"), "-v", "srtsrc", "uri=srt://"+second+"?mode=listener", "num-buffers=200", "!", "tsdemux", "!", "h264parse", "!", "avdec_h264", "!", "fakesink", "silent=false")
	feedTo(t, publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv"), pace{})
	for name, p := range map[string]*process{"ffmpeg": a, "GStreamer": b} {
		if code := p.wait(t, lengthened(60*time.Second)); code != 0 {
			t.Errorf("%s ends with %d: %s", name, code, p.stderr.tail(10))
		}
	}
	if n := len(b.stdout.matches("chain")); n < 20 {
		t.Errorf("GStreamer has decoded %d pictures: %s", n, b.stdout.tail(5))
	}
	// They have gone: the pushes are tried again. One with another passphrase is refused.
	eventually(t, lengthened(30*time.Second), func() string {
		var text string
		s.get(t, "/api/pushes", &text)
		if strings.Contains(text+s.stderr.String(), passphrase) {
			t.Fatalf("the passphrase is in %s or the log", text)
		}
		if strings.Contains(text, `"tries":1,`) || strings.Count(text, `"state":"refused"`) != 1 {
			return text
		}
		return ""
	})
}
