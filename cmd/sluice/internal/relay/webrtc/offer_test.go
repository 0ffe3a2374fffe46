package webrtc

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/flv"
)

// browserOffer is an offer as browsers make it: to receive pictures and sound.
func browserOffer(t testing.TB) []byte {
	t.Helper()
	p, err := os.ReadFile("testdata/offer.sdp")
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.ReplaceAll(strings.ReplaceAll(string(p), "\r", ""), "\n", "\r\n"))
}

func TestOfferOfABrowser(t *testing.T) {
	o, err := parseOffer(browserOffer(t))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(o.text, "a=candidate") || strings.Contains(o.text, "a=rid") || !strings.Contains(o.text, "a=ice-ufrag") {
		t.Errorf("the offer for the library is %s", o.text)
	}
	format := func(codec flv.FourCC, record []byte) rtpmedia.Format {
		return rtpmedia.Format{Video: codec != flv.CodecOpus && codec != flv.CodecMuLaw, Codec: codec, Config: &au.Config{Codec: codec, Record: record}}
	}
	for _, c := range []struct {
		track   rtpmedia.Format
		ok      bool
		payload uint8
		rtx     int
	}{
		{format(flv.CodecAVC, []byte{1, 0x64, 0, 0x1f}), true, 112, 113},
		{format(flv.CodecAVC, []byte{1, 0x42, 0xe0, 0x1f}), true, 102, 103},
		{format(flv.CodecAVC, []byte{1, 0x58, 0, 0x1f}), true, 102, 103}, // of no offered profile: the first
		{format(flv.CodecVP9, nil), true, 98, 99},
		{format(flv.CodecAV1, nil), true, 41, -1},
		{format(flv.CodecHEVC, nil), false, 0, 0},
		{format(flv.CodecOpus, nil), true, 111, -1},
		{format(flv.CodecMuLaw, nil), true, 0, -1},
		{format(flv.CodecAAC, nil), false, 0, 0},
	} {
		f, ok := o.forStream(c.track)
		if ok != c.ok || ok && (f.PayloadType != c.payload || f.rtx != c.rtx) {
			t.Errorf("%v: %v, payload type %d and %d, want %v, %d and %d", c.track.Codec, ok, f.PayloadType, f.rtx, c.ok, c.payload, c.rtx)
		}
	}
	if _, ok := o.fromClient(true); ok {
		t.Error("an offer to receive sends")
	}
	if names := o.names(false); !strings.Contains(names, "H264") || !strings.Contains(names, "VP8") {
		t.Errorf("names: %s", names)
	}
	if names := o.names(true); names != "nothing" {
		t.Errorf("an offer to receive sends %s", names)
	}
}

// A stream goes to the format of its profile: a decoder of another shows nothing.
func TestOfferOfSeveralProfiles(t *testing.T) {
	const more = "a=rtpmap:50 VP9/90000\r\na=fmtp:50 profile-id=2\r\na=rtpmap:51 AV1/90000\r\na=fmtp:51 level-idx=5;profile=1;tier=0\r\n" +
		"a=rtpmap:52 H265/90000\r\na=fmtp:52 tx-mode=SRST\r\na=rtpmap:53 H265/90000\r\na=fmtp:53 level-id=93;profile-id=2;tx-mode=SRST\r\n"
	text := strings.NewReplacer(" 98 99 41", " 98 99 41 50 51 52 53", "m=audio", more+"m=audio").Replace(string(browserOffer(t)))
	o, err := parseOffer([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		codec  flv.FourCC
		record []byte
		want   uint8
	}{
		{flv.CodecVP9, []byte{1, 0, 0, 0, 0, 0}, 98},
		{flv.CodecVP9, []byte{1, 0, 0, 0, 2, 0}, 50},
		{flv.CodecVP9, []byte{1, 0, 0, 0, 3, 0}, 98}, // not offered: the first
		{flv.CodecAV1, []byte{0x81, 0x04}, 41},
		{flv.CodecAV1, []byte{0x81, 0x24}, 51},
		{flv.CodecHEVC, []byte{1, 0x21}, 52},
		{flv.CodecHEVC, []byte{1, 0x02}, 53},
		{flv.CodecHEVC, []byte{1, 0x04}, 52}, // not offered: the first
	} {
		f, ok := o.forStream(rtpmedia.Format{Video: true, Codec: c.codec, Config: &au.Config{Codec: c.codec, Record: c.record}})
		if !ok || f.PayloadType != c.want {
			t.Errorf("%v % x: payload type %d, want %d", c.codec, c.record, f.PayloadType, c.want)
		}
	}
}

// A publisher is asked for H.264 where it can.
func TestOfferToSend(t *testing.T) {
	o, err := parseOffer([]byte(strings.ReplaceAll(string(browserOffer(t)), "a=recvonly", "a=sendonly")))
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := o.fromClient(true); !ok || f.Codec != flv.CodecAVC || f.PayloadType != 102 {
		t.Errorf("pictures: %+v, %v", f, ok)
	}
	if f, ok := o.fromClient(false); !ok || f.Codec != flv.CodecOpus {
		t.Errorf("sound: %+v, %v", f, ok)
	}
	if _, ok := o.forStream(rtpmedia.Format{Video: true, Codec: flv.CodecVP9}); ok {
		t.Error("an offer to send receives")
	}
}

// H.264 without a packetization mode, as GStreamer offers it, is taken where there is no
// other: all endpoints of WebRTC take packets of mode 1 (RFC 7742, section 6.2). Who sends
// may say mode 0, whose packets are among those of mode 1.
func TestOfferOfH264WithoutAMode(t *testing.T) {
	plain := regexp.MustCompile(`a=fmtp:(\d+) .*packetization-mode=\d.*\r\n`)
	said := string(browserOffer(t))
	h264 := rtpmedia.Format{Video: true, Codec: flv.CodecAVC}
	for what, c := range map[string]struct {
		mode           string
		plays, records bool
	}{
		"not said": {"", true, true},
		"0":        {"a=fmtp:$1 packetization-mode=0\r\n", false, true},
		"2":        {"a=fmtp:$1 packetization-mode=2\r\n", false, false},
	} {
		text := plain.ReplaceAllString(said, c.mode)
		o, err := parseOffer([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := o.forStream(h264); ok != c.plays {
			t.Errorf("mode %s: a player that takes it: %v", what, ok)
		}
		if o, err = parseOffer([]byte(strings.ReplaceAll(text, "a=recvonly", "a=sendonly"))); err != nil {
			t.Fatal(err)
		}
		if f, ok := o.fromClient(true); !ok || (f.Codec == flv.CodecAVC) != c.records {
			t.Errorf("mode %s: a publisher sends %v", what, f.Codec)
		}
	}
}

const dataChannel = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:d\r\na=sctp-port:5000\r\n"

// A data channel beside pictures and sound, wherever it stands, is rejected by itself.
func TestOfferWithADataChannel(t *testing.T) {
	good := string(browserOffer(t))
	first := strings.Index(good, "m=")
	grouped := strings.Replace(good[:first], "a=group:BUNDLE 0 1", "a=group:BUNDLE 0 d 1", 1)
	without, err := parseOffer([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	const answer = "v=0\r\na=group:BUNDLE 0 1\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:1\r\n"
	const rejected = "m=application 0 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:d\r\na=inactive\r\n"
	second := first + strings.Index(good[first:], "m=audio")
	for what, c := range map[string]struct{ offer, before string }{
		"first":  {grouped + dataChannel + good[first:], "m=video"},
		"second": {grouped + good[first:second] + dataChannel + good[second:], "m=audio"},
		"last":   {grouped + good[first:] + dataChannel, ""},
	} {
		o, err := parseOffer([]byte(c.offer))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if o.text != without.text {
			t.Errorf("%s: the offer for the library is %s", what, o.text)
		}
		want := answer + rejected
		if c.before != "" {
			want = strings.Replace(answer, c.before, rejected+c.before, 1)
		}
		if got := o.rejecting(answer); got != want {
			t.Errorf("%s: the answer is %s", what, got)
		}
	}
}

// An offer of media that can only be had together says how they are connected once, in the first of the group (RFC
// 9429, section 5.2.1), as the example of RFC 9725 does. That may be a data channel, and need not stand first.
func TestOfferThatSaysOnceHowItIsConnected(t *testing.T) {
	good := string(browserOffer(t))
	first, second := strings.Index(good, "m="), strings.Index(good, "m=audio")
	head, pictures, sound := good[:first], good[first:second], good[second:]
	named := regexp.MustCompile(`(?m)^a=(?:ice-ufrag|ice-pwd|ice-options|fingerprint|setup|rtcp-mux|rtcp-rsize).*\r\n`)
	said := strings.Join(named.FindAllString(pictures, -1), "")
	only := func(m string) string {
		m = named.ReplaceAllString(m, "")
		return strings.Replace(strings.Replace(m, " 9 ", " 0 ", 1), "a=mid:", "a=bundle-only\r\na=mid:", 1)
	}
	group := func(mids string) string {
		return strings.Replace(head, "a=group:BUNDLE 0 1", "a=group:BUNDLE "+mids, 1)
	}
	for what, text := range map[string]string{
		"the first":                     group("0 1") + pictures + only(sound),
		"the first of the group":        group("1 0") + only(pictures) + sound,
		"a data channel that is first":  group("d 0 1") + dataChannel + said + only(pictures) + only(sound),
		"a data channel that is behind": group("d 0 1") + only(pictures) + dataChannel + said + only(sound),
	} {
		o, err := parseOffer([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if len(o.media) != 2 || !o.media[0].receives || !o.media[1].receives {
			t.Errorf("%s: %+v", what, o.media)
		}
		pc, err := pion.NewPeerConnection(pion.Configuration{})
		if err != nil {
			t.Fatal(err)
		}
		if err := pc.SetRemoteDescription(pion.SessionDescription{Type: pion.SDPTypeOffer, SDP: o.text}); err != nil {
			t.Errorf("%s: the library takes it not: %v", what, err)
		}
		pc.Close()
	}
	for what, text := range map[string]string{
		"another than the first": group("1 0") + pictures + only(sound),
		"a medium without group": head + pictures + strings.Replace(only(sound), "a=mid:1", "a=mid:2", 1),
	} {
		if _, err := parseOffer([]byte(text)); !errors.Is(err, ErrOffer) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestOfferFaults(t *testing.T) {
	good := string(browserOffer(t))
	section := good[strings.Index(good, "m=audio"):]
	for what, text := range map[string]string{
		"nothing":           "",
		"no SDP":            "hello",
		"no media":          good[:strings.Index(good, "m=")],
		"many media":        good + strings.Repeat(section, maxMedia),
		"a data channel":    good[:strings.Index(good, "m=")] + dataChannel,
		"no fingerprint":    strings.ReplaceAll(good, "a=fingerprint", "a=x"),
		"no ufrag":          strings.ReplaceAll(good, "a=ice-ufrag", "a=x"),
		"a long ufrag":      strings.ReplaceAll(good, "a=ice-ufrag:", "a=ice-ufrag:"+strings.Repeat("u", maxCredential)),
		"a long password":   strings.ReplaceAll(good, "a=ice-pwd:", "a=ice-pwd:"+strings.Repeat("p", maxCredential)),
		"no group":          strings.ReplaceAll(good, "a=group", "a=x"),
		"another group":     strings.ReplaceAll(good, "a=group:BUNDLE", "a=group:LS"),
		"half a group":      strings.ReplaceAll(good, "a=group:BUNDLE 0 1", "a=group:BUNDLE 0"),
		"many formats":      strings.Replace(good, "SAVPF 111", "SAVPF 111"+strings.Repeat(" 9", maxFormats), 1),
		"a long one":        good + strings.Repeat("a=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\n", MaxOffer/40),
		"bytes":             "\x00\xff\x00",
		"an endless line":   "v=0\r\n" + strings.Repeat("x", 60000),
		"attributes, 60000": good + strings.Repeat("a=\r\n", 20000),
	} {
		if _, err := parseOffer([]byte(text)); !errors.Is(err, ErrOffer) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A group of another kind may stand beside the one that counts (RFC 5888, section 5).
func TestOfferOfTwoGroups(t *testing.T) {
	text := strings.Replace(string(browserOffer(t)), "a=group:BUNDLE", "a=group:LS 0 1\r\na=group:BUNDLE", 1)
	o, err := parseOffer([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(o.text, "a=group:LS") || !strings.Contains(o.text, "a=group:BUNDLE 0 1") {
		t.Errorf("the offer for the library, which looks at one group, is %s", o.text)
	}
}

// Lines by which a client makes a long offer cost little: what the library would keep for them is left out, and what is
// read of them is not read again for each.
func TestOffersOfManyLines(t *testing.T) {
	good := string(browserOffer(t))
	plain, err := parseOffer([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"a=x", "a=rtcp-fb:111 nack", "a=fmtp:111 a=1", "a=rtpmap:111 opus/48000/2", "a=ssrc:7 cname:a", "b=AS:1", "a=mid:1\ra=candidate:1 1 udp 1 192.0.2.1 1 typ host",
	} {
		text := good + strings.Repeat(line+"\r\n", (MaxOffer-len(good))/(len(line)+2))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o, err := parseOffer([]byte(text))
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if n := len(o.text); n > len(plain.text)+len(line)+2 {
			t.Errorf("%s: %d bytes for the library, which gets %d of the offer without such lines", line, n, len(plain.text))
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 100*MaxOffer {
			t.Errorf("%s: %d bytes are allocated", line, n)
		}
	}
	sources := ""
	for i := range 2000 {
		sources += fmt.Sprintf("a=ssrc:%d cname:a\r\n", i)
	}
	if o, err := parseOffer([]byte(good + sources)); err != nil || strings.Count(o.text, "a=ssrc:") > maxSourceRows {
		t.Errorf("%d lines of sources, %v", strings.Count(o.text, "a=ssrc:"), err)
	}
}

// How long an offer takes to read follows its length, wherever its lines stand: with those of the session between the
// names of its media and the search for them, one of 55 KB took 1.5 s of a processor, before anything was asked for.
func TestOffersOfManyLinesTakeNoMoreTime(t *testing.T) {
	const (
		head   = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"
		medium = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuvwx\r\na=fingerprint:sha-256 00:11\r\na=setup:actpass\r\na=rtpmap:111 opus/48000/2\r\n"
	)
	offer := func(session string, spread bool) []byte {
		lines, each, rest := strings.Repeat(session, 24_000/len(session)), strings.Repeat("a=y\r\n", 600), ""
		if !spread { // all of them are in the last medium
			lines, each, rest = "", "", lines+strings.Repeat(each, maxMedia)
		}
		text := head + lines + "a=group:BUNDLE 0 1 2 3 4 5 6 7\r\n"
		for i := range maxMedia {
			text += medium + each + fmt.Sprintf("a=mid:%d\r\n", i)
		}
		return []byte(text + rest)
	}
	read := func(p []byte) time.Duration {
		begun := time.Now()
		_, _ = parseOffer(p) // it may be refused
		return time.Since(begun)
	}
	for _, session := range []string{"a=x\r\n", "a=group:BUNDLE 9\r\n"} {
		spread, together := offer(session, true), offer(session, false)
		const tries, most = 5, 10
		var one, other time.Duration
		for range tries { // others use the processor too
			if one, other = read(spread), read(together); one < most*other {
				break
			}
		}
		if one >= most*other {
			t.Errorf("%q: %v, and %v where the lines stand together", session, one, other)
		}
	}
}

func FuzzOffer(f *testing.F) {
	f.Add(browserOffer(f))
	f.Add([]byte("v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=ice-ufrag:a\r\na=ice-pwd:b\r\na=fingerprint:c\r\na=setup:actpass\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		o, err := parseOffer(p)
		if err != nil {
			if !errors.Is(err, ErrOffer) {
				t.Fatalf("%v is not ErrOffer", err)
			}
			return
		}
		if len(o.media) == 0 || len(o.media) > maxMedia || len(o.text) > 2*len(p)+32 || len(o.names(true)) > 12*22 {
			t.Fatalf("%d media, %d bytes, names %q", len(o.media), len(o.text), o.names(true))
		}
		for _, m := range o.media {
			if len(m.formats) > maxFormats {
				t.Fatalf("%d formats", len(m.formats))
			}
			for _, format := range m.formats {
				if mimeTypes[format.Codec] == "" || format.Video != m.video || format.Clock <= 0 {
					t.Fatalf("format %+v of a medium with video %v", format, m.video)
				}
			}
		}
		for _, video := range []bool{true, false} {
			o.fromClient(video)
			o.forStream(rtpmedia.Format{Video: video, Codec: flv.CodecAVC})
		}
	})
}

func TestLinks(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	list := []string{"stun:a", "turn:b?transport=tcp"}
	if got := Links(list, "", now); len(got) != 1 || got[0] != `<stun:a>; rel="ice-server"` {
		t.Errorf("%q", got)
	}
	want := `<turn:b?transport=tcp>; rel="ice-server"; username="1700043200:sluice"; credential="`
	if got := Links(list, "s", now); len(got) != 2 || !strings.HasPrefix(got[1], want) || !strings.HasSuffix(got[1], `="; credential-type="password"`) {
		t.Errorf("%q", got)
	}
}
