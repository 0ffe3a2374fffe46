package rtpmedia

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/flv"
)

// ffmpeg describes codecs that it has no form for by a payload type alone.
func TestFormatsWithoutAForm(t *testing.T) {
	for encoding, want := range map[string]string{"": "payload type 97", "EAC3/48000/6": "EAC3/48000/6", "H264": "H264", "L16/44100/2": "L16/44100/2"} {
		if f, err := ParseFormat(false, 97, encoding, nil); !errors.Is(err, ErrCodec) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", encoding, f, err)
		}
	}
}

// Units that are sent in another order than that of decoding are said to be left out: packets of such modes
// have other forms (RFC 6184, section 6.4; RFC 7798, section 4.4.1).
func TestInterleavedModesAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		encoding, fmtp string
		taken          bool
	}{
		{"H264/90000", "packetization-mode=2;sprop-interleaving-depth=2", false},
		{"H264/90000", "packetization-mode=1", true},
		{"h265/90000", "sprop-max-don-diff=3", false},
		{"H265/90000", "sprop-max-don-diff=0", true},
		{"H265/90000", "", true},
	} {
		f, err := ParseFormat(true, 96, c.encoding, Params(c.fmtp))
		if (err == nil) != c.taken || err != nil && (!errors.Is(err, ErrCodec) || !strings.Contains(err.Error(), "order")) {
			t.Errorf("%s %s: %+v, %v", c.encoding, c.fmtp, f, err)
		}
	}
}

// Cameras and servers describe their streams out of order, with media of their own,
// and without the lines that RFC 8866 wants.
func TestDescriptionsThatAreNotAsTheyShouldBe(t *testing.T) {
	const pictures = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:v\r\n"
	const sound = "m=audio 0 RTP/AVP 8\r\na=control:a\r\n"
	const session = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=x\r\nt=0 0\r\n"
	for name, text := range map[string]string{
		"attributes before bandwidth":    "v=0\r\ns=x\r\na=control:*\r\nb=AS:10\r\na=range:npt=now-\r\n" + pictures + "b=AS:9\r\n" + sound + "i=title\r\n",
		"an address behind attributes":   session + "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\nc=IN IP4 0.0.0.0\r\na=control:v\r\n" + sound,
		"media alone":                    pictures + sound,
		"an address behind the time":     session + "c=IN IP4 127.0.0.1\r\n" + pictures + sound,
		"media of a camera's own":        session + pictures + sound + "m=cameradata 0 RTP/AVP 100\r\na=rtpmap:100 X.DATA/90000\r\n",
		"an origin with a number":        "v=0\r\no=00001 1 1 IN IP4 camera\r\ns= \r\nt=0 0\r\n" + pictures + sound,
		"no end of the last line":        strings.TrimSuffix(session+pictures+sound, "\r\n"),
		"LF":                             strings.ReplaceAll(session+pictures+sound, "\r", ""),
		"CR":                             strings.ReplaceAll(session+pictures+sound, "\n", ""),
		"empty lines, and a zero behind": session + "\r\n" + pictures + "\r\n" + sound + "\r\n\x00",
		"letters that are no type":       session + "?=1\r\n" + pictures + "X-Y=1\r\n" + sound,
		"a port of several, and spaces":  strings.NewReplacer("video 0 ", "video  0/2 ", "96 H", "96  H").Replace(session+pictures) + sound,
	} {
		tracks, err := Parse([]byte(text))
		if err != nil || len(tracks) < 2 {
			t.Errorf("%s: %v, %v", name, tracks, err)
			continue
		}
		v, a := tracks[0], tracks[1]
		if v.Err != nil || a.Err != nil || v.Codec != flv.CodecAVC || v.Control != "v" || a.Codec != flv.CodecALaw || a.Control != "a" {
			t.Errorf("%s: %+v", name, tracks)
		}
	}
	for _, text := range []string{"", "x", session, "v=0\r\nm", strings.Repeat(sound, MaxTracks+1)} {
		if tracks, err := Parse([]byte(text)); !errors.Is(err, ErrSyntax) {
			t.Errorf("%.40q: %v, %v", text, tracks, err)
		}
	}
	if tracks, err := Parse([]byte("m=video\r\n" + sound)); err != nil || len(tracks) != 2 || !errors.Is(tracks[0].Err, ErrSyntax) || tracks[1].Err != nil {
		t.Errorf("%v, %v", tracks, err)
	}
}

func TestParametersThatAreCutIntoLines(t *testing.T) {
	for _, c := range configs(t) {
		f, err := NewFormat(c)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Describe("x", false, []Format{f})
		if err != nil {
			t.Fatal(err)
		}
		before, params, ok := strings.Cut(string(whole), "a=fmtp:96 ")
		if !ok || !f.Video {
			continue
		}
		text := before + "a=fmtp:96 " + params[:40] + "\r\n" + params[40:60] + "\r\n" + params[60:]
		tracks, err := Parse([]byte(text))
		if err != nil || tracks[0].Err != nil || tracks[0].Config == nil || !slices.EqualFunc(tracks[0].Config.Sets, c.Sets, bytes.Equal) || tracks[0].Control != TrackPath(0) {
			t.Errorf("%v: %+v, %v\n%s", c.Codec, tracks, err, text)
		}
	}
}
