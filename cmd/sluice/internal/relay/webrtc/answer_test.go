package webrtc

import (
	"strings"
	"testing"
)

// Candidates stand in the first medium that is taken.
func TestCandidatesStandInAMediumThatIsTaken(t *testing.T) {
	const own, head, end = "a=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\n", "v=0\r\na=ice-lite\r\n", "a=end-of-candidates\r\n"
	medium := func(port, candidates string) string {
		return "m=video " + port + " UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\n" + candidates + "a=mid:" + port + "\r\n"
	}
	const set = "a=candidate:2 1 udp 1 192.0.2.2 1 typ host\r\n"
	for _, c := range []struct{ answer, set, want string }{
		{head + medium("9", own+end) + medium("9", ""), "", head + medium("9", own+end) + medium("9", "")},
		{head + medium("0", own+end) + medium("9", ""), "", head + medium("0", "") + medium("9", own+end)},
		{head + medium("0", own+end) + medium("0", "") + medium("9", ""), set, head + medium("0", "") + medium("0", "") + medium("9", set)},
		{head + medium("9", own+end), set, head + medium("9", set)},
	} {
		if got := addressed(c.answer, c.set); got != c.want {
			t.Errorf("%s\nwant\n%s", strings.ReplaceAll(got, "\r", ""), strings.ReplaceAll(c.want, "\r", ""))
		}
	}
}

// What an answer says of media that are rejected, or on which nothing is sent.
func TestMediaThatAreNotSent(t *testing.T) {
	const rejected = "m=video 0 UDP/TLS/RTP/SAVPF 0\r\nc=IN IP4 0.0.0.0\r\n"
	const silent = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=ice-ufrag:u\r\na=ice-pwd:p\r\na=setup:passive\r\na=mid:1\r\na=sendonly\r\n"
	const sent = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:2\r\na=msid:a b\r\na=sendonly\r\n"
	const want = "m=video 0 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:u\r\na=ice-pwd:p\r\na=setup:passive\r\na=mid:0\r\na=rtcp-mux\r\na=rtpmap:96 VP8/90000\r\na=inactive\r\n"
	o := offer{media: []medium{{mid: "0", first: "96", described: "a=rtpmap:96 VP8/90000\r\n"}, {mid: "1"}}}
	for answer, named := range map[string]string{
		rejected + silent + sent: want + strings.Replace(silent, "sendonly", "inactive", 1) + sent,
		silent + sent + rejected: strings.Replace(silent, "sendonly", "inactive", 1) + sent + rejected, // not of the offer
	} {
		if got := o.named("v=0\r\n" + answer); got != "v=0\r\n"+named {
			t.Errorf("%s\nwant\n%s", strings.ReplaceAll(got, "\r", ""), strings.ReplaceAll(named, "\r", ""))
		}
	}
}

// A browser sends both channels of its sound if the answer takes them.
func TestAnswerTakesBothChannels(t *testing.T) {
	offer := strings.ReplaceAll(string(browserOffer(t)), "a=recvonly", "a=sendonly")
	const params, none = "a=fmtp:111 minptime=10;useinbandfec=1\r\n", "a=rtpmap:111 opus/48000/2\r\n"
	for _, c := range []struct{ offer, answer, want string }{
		{offer, none + params, none + "a=fmtp:111 stereo=1;minptime=10;useinbandfec=1\r\n"},
		{strings.Replace(offer, params, "", 1), none, none + "a=fmtp:111 stereo=1\r\n"},
		{strings.Replace(offer, "inbandfec=1", "inbandfec=1;stereo=0", 1), none + params, none + params}, // it has said what it wants
		{string(browserOffer(t)), none + params, none + params},                                          // that is the viewer's
	} {
		o, err := parseOffer([]byte(c.offer))
		if err != nil {
			t.Fatal(err)
		}
		const before = "v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 102\r\na=rtpmap:102 H264/90000\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"
		if got := o.stereo(before + c.answer); got != before+c.want {
			t.Errorf("%s\nwant\n%s", got, before+c.want)
		}
	}
}
