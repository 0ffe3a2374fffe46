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
