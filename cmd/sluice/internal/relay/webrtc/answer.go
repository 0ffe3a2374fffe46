package webrtc

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/flv"
)

// An Answer is what a client gets for an offer that was taken.
type Answer struct {
	ID      string   // of the session, a secret of the client
	ETag    string   // of the state of its connection
	SDP     string   // the answer
	LeftOut []string // codecs of the stream that have no way to this viewer
}

// addressed returns an answer whose candidates, lines of SDP, are those given, or its own
// with none. They stand in the first medium that is not rejected: the library writes its
// own into the first of all, and clients take none from one that is (RFC 9143, section
// 7.3.1, has all in that of the group's transport).
func addressed(answer, candidates string) string {
	own := candidates == ""
	var rest []string
	at := -1 // the first attribute of the medium, in rest
	taken := false
	for line := range strings.Lines(answer) {
		switch {
		case strings.HasPrefix(line, "a=candidate:") || strings.HasPrefix(line, "a=end-of-candidates"):
			if own {
				candidates += line
			}
			continue
		case strings.HasPrefix(line, "m="):
			_, port, _ := strings.Cut(line, " ")
			taken = !strings.HasPrefix(port, "0 ")
		case taken && at < 0 && strings.HasPrefix(line, "a="):
			at = len(rest)
		}
		rest = append(rest, line)
	}
	if at < 0 {
		at = len(rest)
	}
	return strings.Join(rest[:at], "") + candidates + strings.Join(rest[at:], "")
}

// withoutGroup leaves out the group of an answer to an offer that has none.
func withoutGroup(answer string) string {
	before, line, ok := strings.Cut(answer, "a=group:")
	if !ok {
		return answer
	}
	_, after, _ := strings.Cut(line, "\n")
	return before + after
}

// named returns an answer that says what the library leaves out. Rejected media have a name,
// a connection and a format that was offered, as browsers write or take them (RFC 9429, section
// 5.3.1, asks for none): GStreamer, aiortc and werift take no medium of an answer without.
// Media on which nothing is sent are inactive.
func (o *offer) named(answer string) string {
	connection := ""
	for _, name := range []string{"a=ice-ufrag:", "a=ice-pwd:", "a=setup:"} {
		if _, rest, ok := strings.Cut(answer, name); ok {
			value, _, _ := strings.Cut(rest, "\r\n")
			connection += name + value + "\r\n"
		}
	}
	const start = "\r\nm="
	media := strings.Split(strings.TrimSuffix(answer, "\r\n"), start)
	for i, m := range media[1:] {
		_, port, _ := strings.Cut(m, " ")
		switch rejected := strings.HasPrefix(port, "0 "); {
		case !rejected && !strings.Contains(m, "\r\na=msid:"):
			media[i+1] = strings.Replace(m, "\r\na=sendonly", "\r\na=inactive", 1)
		case rejected && i < len(o.media) && o.media[i].mid != "":
			line, rest, _ := strings.Cut(m, "\r\n")
			media[i+1] = line[:strings.LastIndexByte(line, ' ')+1] + o.media[i].first + "\r\n" + rest + "\r\n" +
				connection + "a=mid:" + o.media[i].mid + "\r\na=rtcp-mux\r\n" + o.media[i].described + "a=inactive"
		}
	}
	return strings.Join(media, start) + "\r\n"
}

// stereo returns an answer that takes both channels of Opus from who sends it: browsers send one unless it says so
// (RFC 7587, section 6.1).
func (o *offer) stereo(answer string) string {
	const start = "\r\nm="
	media := strings.Split(answer, start)
	for i := 1; i < len(media) && i <= len(o.media); i++ {
		for _, f := range o.media[i-1].formats {
			if f.Codec != flv.CodecOpus || !o.media[i-1].sends || rtpmedia.Params(f.params)["stereo"] != "" {
				continue
			}
			params, encoding := fmt.Sprintf("\r\na=fmtp:%d ", f.PayloadType), fmt.Sprintf("\r\na=rtpmap:%d opus/48000/2", f.PayloadType)
			if strings.Contains(media[i], params) {
				media[i] = strings.Replace(media[i], params, params+"stereo=1;", 1)
			} else {
				media[i] = strings.Replace(media[i], encoding, encoding+params+"stereo=1", 1)
			}
		}
	}
	return strings.Join(media, start)
}

// layered returns an answer that takes one layer of each medium that has several. An
// answer without any leaves a browser with its first, which often is the smallest.
func (o *offer) layered(answer string) string {
	var b strings.Builder
	var m medium
	end := func() {
		if m.layer != "" {
			b.WriteString("a=extmap:" + m.ridMap + "\r\na=rid:" + m.layer + " recv\r\na=simulcast:recv " + m.layer + "\r\n")
		}
	}
	media := 0
	for line := range strings.Lines(answer) {
		if strings.HasPrefix(line, "m=") {
			end()
			m = medium{}
			if _, port, _ := strings.Cut(line, " "); media < len(o.media) && !strings.HasPrefix(port, "0 ") {
				m = o.media[media]
			}
			media++
		}
		b.WriteString(line)
	}
	end()
	return b.String()
}
