package webrtc

import (
	"os"
	"strings"
	"testing"

	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/flv"
)

// simulcastOffer is an offer to send several layers of pictures.
func simulcastOffer(t *testing.T, lines ...string) *offer {
	t.Helper()
	text := strings.ReplaceAll(string(browserOffer(t)), "a=recvonly", "a=sendonly")
	text = strings.Replace(text, "a=rid:h recv\r\n", "a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\n"+strings.Join(lines, "\r\n")+"\r\n", 1)
	o, err := parseOffer([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(o.text, "a=rid") || strings.Contains(o.text, "a=simulcast") {
		t.Errorf("the offer for the library is %s", o.text)
	}
	return o
}

// Of several layers the largest is taken, and the answer says so.
func TestSimulcast(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"none":                     {[]string{"a=x"}, ""},
		"quarter first":            {[]string{"a=rid:q send", "a=rid:h send", "a=rid:f send", "a=simulcast:send q;h;f"}, "f"},
		"full first":               {[]string{"a=rid:f send", "a=rid:h send", "a=rid:q send", "a=simulcast:send f;h;q"}, "f"},
		"high, medium, low":        {[]string{"a=rid:h send", "a=rid:m send", "a=rid:l send", "a=simulcast:send h;m;l"}, "h"},
		"as browsers scale them":   {[]string{"a=rid:r0 send", "a=rid:r1 send", "a=rid:r2 send", "a=simulcast:send r0;r1;r2"}, "r2"},
		"of OBS":                   {[]string{"a=rid:0 send", "a=rid:1 send", "a=simulcast:send 0;1"}, "0"},
		"with sizes":               {[]string{"a=rid:a send max-width=1280;max-height=720", "a=rid:f send max-width=320;max-height=180", "a=simulcast:send a;f"}, "a"},
		"with macroblocks":         {[]string{"a=rid:a send max-fs=3600", "a=rid:b send max-fs=900", "a=simulcast:send a;b"}, "a"},
		"with bit rates":           {[]string{"a=rid:a send pt=102;max-br=64000", "a=rid:b send max-br=8000", "a=simulcast:send a;b"}, "a"},
		"paused, with another":     {[]string{"a=rid:a send", "a=rid:b send", "a=rid:c send", "a=simulcast:recv x send a;~b,c"}, "b"},
		"without its line":         {[]string{"a=rid:a send", "a=simulcast:send a;b"}, "a"},
		"to receive":               {[]string{"a=rid:a recv", "a=rid:b recv", "a=simulcast:recv a;b"}, ""},
		"numbers that are too big": {[]string{"a=rid:a send max-width=99999999999999999999", "a=rid:b send max-br=1", "a=simulcast:send b;a"}, "b"},
		"half a line":              {[]string{"a=rid:a send", "a=simulcast:send"}, ""},
	} {
		o := simulcastOffer(t, c.lines...)
		if got := o.media[0].layer; got != c.want {
			t.Errorf("%s: %q is taken, want %q", name, got, c.want)
		}
		const answer = "v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 102\r\na=mid:0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:1\r\n"
		want := answer
		if c.want != "" {
			want = strings.Replace(answer, "m=audio", "a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\na=rid:"+c.want+" recv\r\na=simulcast:recv "+c.want+"\r\nm=audio", 1)
		}
		if got := o.layered(answer); got != want {
			t.Errorf("%s: the answer is %q", name, got)
		}
		if refused := strings.Replace(answer, "m=video 9", "m=video 0", 1); o.layered(refused) != refused {
			t.Errorf("%s: a medium that is refused takes %q", name, o.layered(refused))
		}
	}
	o := simulcastOffer(t, "a=rid:a send", "a=rid:b send", "a=simulcast:send a;b")
	o.media[0], o.media[1] = o.media[1], o.media[0]
	if got := o.layered("m=audio 9 x\r\na=mid:1\r\nm=video 9 x\r\na=mid:0\r\n"); !strings.HasSuffix(got, "a=rid:b recv\r\na=simulcast:recv b\r\n") || strings.Count(got, "a=rid") != 1 {
		t.Errorf("in the last medium: %q", got)
	}
	text := strings.ReplaceAll(string(browserOffer(t)), "a=recvonly", "a=sendonly\r\na=rid:a send\r\na=simulcast:send a")
	if o, err := parseOffer([]byte(text)); err != nil || o.media[0].layer != "" {
		t.Errorf("without a way to name it in packets: %+v, %v", o, err)
	}
}

// Firefox names the sources of its layers beside the layers. The file is an offer of Firefox 153.
func TestSimulcastOfFirefox(t *testing.T) {
	text, err := os.ReadFile("testdata/firefox-simulcast.sdp")
	if err != nil {
		t.Fatal(err)
	}
	o, err := parseOffer([]byte(strings.ReplaceAll(string(text), "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	pc, err := pion.NewPeerConnection(pion.Configuration{})
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	if err := pc.SetRemoteDescription(pion.SessionDescription{Type: pion.SDPTypeOffer, SDP: o.text}); err != nil {
		t.Fatal("the library takes it not: ", err)
	}
	if _, err := pc.CreateAnswer(nil); err != nil {
		t.Error("the library answers it not: ", err)
	}
	if f, ok := o.fromClient(true); !ok || f.Codec != flv.CodecVP9 || f.PayloadType != 121 || f.rtx != 125 {
		t.Errorf("pictures: %+v, %v", f, ok)
	}
	if f, ok := o.fromClient(false); !ok || f.Codec != flv.CodecOpus || !strings.Contains(o.text, "a=ssrc:3670645651 ") {
		t.Errorf("sound: %+v, %v, of %s", f, ok, o.text)
	}
	const answer = "v=0\r\nm=audio 9 x\r\nm=video 9 x\r\n"
	if got := o.layered(answer); got != answer+"a=extmap:9/recvonly urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\na=rid:h recv\r\na=simulcast:recv h\r\n" {
		t.Errorf("the answer is %q", got)
	}
}
