package relay

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Offers of the many forms that clients make are answered.
func TestOddOffers(t *testing.T) {
	s := rtcServe(t, nil)
	good := strings.ReplaceAll(deadOffer(t), "recvonly", "sendonly")
	first, second := strings.Index(good, "m="), strings.Index(good, "m=audio")
	head, pictures, sound := good[:first], good[first:second], good[second:]
	without := func(names, text string) string {
		return regexp.MustCompile(`(?m)^(?:`+names+`).*\r\n`).ReplaceAllString(text, "")
	}
	transport := `a=ice-ufrag|a=ice-pwd|a=fingerprint|a=setup`
	all := strings.Join(regexp.MustCompile(`(?m)^(?:`+transport+`).*\r\n`).FindAllString(sound, -1), "")
	for what, c := range map[string]struct {
		offer string
		want  int
	}{
		"as it is":                    {good, 201},
		"lines that end in LF":        {strings.ReplaceAll(good, "\r", ""), 201},
		"no end of the last line":     {strings.TrimRight(good, "\r\n"), 201},
		"said for all":                {head + all + without(transport, pictures+sound), 201},
		"SAVP":                        {strings.ReplaceAll(good, "SAVPF", "SAVP"), 201},
		"RTP/SAVPF":                   {strings.ReplaceAll(good, "UDP/TLS/RTP", "RTP"), 201},
		"small letters":               {strings.ReplaceAll(good, "H264/", "h264/"), 201},
		"spaces in parameters":        {strings.ReplaceAll(good, ";", "; "), 201},
		"no connection lines":         {without("c=", good), 201},
		"no time":                     {without("t=", good), 400},
		"no name":                     {without("s=", good), 400},
		"bandwidth":                   {strings.ReplaceAll(good, "a=mid:0", "b=AS:2500\r\nb=TIAS:2500000\r\na=mid:0"), 201},
		"names of media":              {strings.NewReplacer("BUNDLE 0 1", "BUNDLE video0 audio-1", "mid:0", "mid:video0", "mid:1", "mid:audio-1").Replace(good), 201},
		"rejected pictures":           {strings.Replace(head, "BUNDLE 0 1", "BUNDLE 1", 1) + without(transport, strings.Replace(pictures, "m=video 9", "m=video 0", 1)) + sound, 201},
		"rejected pictures, bare":     {strings.Replace(head, "BUNDLE 0 1", "BUNDLE 1", 1) + "m=video 0 UDP/TLS/RTP/SAVPF 0\r\nc=IN IP4 0.0.0.0\r\na=inactive\r\n" + sound, 400},
		"rejected pictures, a mid":    {strings.Replace(head, "BUNDLE 0 1", "BUNDLE 1", 1) + "m=video 0 UDP/TLS/RTP/SAVPF 0\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=inactive\r\n" + sound, 201},
		"inactive pictures":           {head + strings.Replace(pictures, "a=sendonly", "a=inactive", 1) + sound, 201},
		"two of sound":                {strings.Replace(head, "BUNDLE 0 1", "BUNDLE 0 1 2", 1) + pictures + sound + strings.Replace(sound, "mid:1", "mid:2", 1), 201},
		"active":                      {strings.ReplaceAll(good, "actpass", "active"), 201},
		"passive":                     {strings.ReplaceAll(good, "actpass", "passive"), 201},
		"two fingerprints":            {strings.ReplaceAll(good, "a=setup", "a=fingerprint:sha-1 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13\r\na=setup"), 201},
		"SHA-256":                     {strings.ReplaceAll(good, "sha-256", "SHA-256"), 201},
		"small fingerprint":           {strings.NewReplacer("0A:0B:0C:0D:0E:0F", "0a:0b:0c:0d:0e:0f").Replace(good), 201},
		"a group of more":             {strings.Replace(good, "BUNDLE 0 1", "BUNDLE 0 1 7", 1), 201},
		"IPv6":                        {strings.ReplaceAll(good, "IN IP4 0.0.0.0", "IN IP6 ::"), 201},
		"extensions of two bytes":     {strings.ReplaceAll(good, "a=sendonly", "a=extmap:20 urn:ietf:params:rtp-hdrext:sdes:mid\r\na=sendonly"), 201},
		"no H.264 parameters":         {without(`a=fmtp:1[01]`, good), 201},
		"one medium, no group":        {without("a=group", head) + pictures, 201},
		"one medium, neither":         {without("a=group", head) + without("a=mid", pictures), 400},
		"two media, no group":         {without("a=group", good), 400},
		"no mid":                      {without("a=mid", good), 400},
		"G.711":                       {strings.Replace(head, "BUNDLE 0 1", "BUNDLE 1", 1) + without("a=rtpmap|a=fmtp", strings.Replace(sound, "SAVPF 111 0 8", "SAVPF 0", 1)), 201},
		"text":                        {strings.Replace(head, "BUNDLE 0 1", "BUNDLE 0 1 t", 1) + pictures + sound + "m=text 9 UDP/TLS/RTP/SAVPF 98\r\nc=IN IP4 0.0.0.0\r\na=mid:t\r\n" + all, 201},
		"ice-lite":                    {strings.Replace(good, "a=group", "a=ice-lite\r\na=group", 1), 201},
		"tls-id":                      {strings.ReplaceAll(good, "a=setup", "a=tls-id:91bbf309c0990a6bec11e38ba2933cee\r\na=setup"), 201},
		"identity":                    {strings.Replace(good, "a=group", "a=identity:eyJpZHAiOnsiZG9t\r\na=group", 1), 201},
		"odd attributes":              {strings.ReplaceAll(good, "a=sendonly", "a=foo:bar\r\na=x-y\r\na=ssrc:1\r\na=ssrc-group:FID 1\r\na=sendonly"), 201},
		"sources":                     {strings.ReplaceAll(good, "a=sendonly", "a=ssrc-group:FID 1 2\r\na=ssrc:1 cname:x\r\na=ssrc:2 cname:x\r\na=msid:- v\r\na=sendonly"), 201},
		"msid of one word":            {strings.ReplaceAll(good, "a=sendonly", "a=msid:-\r\na=sendonly"), 201},
		"simulcast":                   {strings.Replace(good, "a=sendonly", "a=rid:a send\r\na=rid:b send\r\na=simulcast:send a;~b\r\na=extmap:5 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\na=sendonly", 1), 201},
		"one layer":                   {strings.Replace(good, "a=sendonly", "a=rid:a send\r\na=simulcast:send a\r\na=sendonly", 1), 201},
		"cryptex":                     {strings.ReplaceAll(good, "a=sendonly", "a=cryptex\r\na=sendonly"), 201},
		"RED":                         {strings.Replace(strings.Replace(good, "SAVPF 111", "SAVPF 63 111", 1), "a=rtpmap:111", "a=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\na=rtpmap:111", 1), 201},
		"HEVC alone":                  {regexp.MustCompile(`a=fmtp:1(02|12).*\r\n`).ReplaceAllString(strings.NewReplacer("H264/", "H265/", "VP9/", "x/", "AV1/", "y/").Replace(good), ""), 201},
		"a rejected medium of no use": {head + strings.Replace(pictures, "a=sendonly", "a=recvonly", 1) + sound, 201},
	} {
		status, header, text := s.rtcAsk(t, "POST", "/live/"+fmt.Sprintf("%x", what)+"/whip", c.offer)
		if status != c.want {
			t.Errorf("%s: %d %s", what, status, text)
		}
		if status == 201 {
			if n, m := strings.Count(c.offer, "m="), strings.Count(text, "\r\nm="); n != m {
				t.Errorf("%s: %d media of %d:\n%s", what, m, n, text)
			}
			s.rtcAsk(t, "DELETE", header.Get("Location"), "")
		}
	}
}
