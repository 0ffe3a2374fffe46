package config

import (
	"fmt"
	"strings"
	"time"
)

// The values of HLS.
const (
	HLSLow   = "low-latency"
	HLSPlain = "plain"
	HLSOff   = "off"
)

// LiveStreaming is how streams are played by HLS, HTTP Live Streaming.
type LiveStreaming struct {
	HLS         string // HLSLow, HLSPlain or HLSOff
	HLSSegment  time.Duration
	HLSPart     time.Duration
	HLSSegments int
	HLSBytes    int
	HLSGroup    []string // patterns with one *
}

func (g *LiveStreaming) settings() []Setting {
	return []Setting{
		{Name: "hls", Default: HLSLow, Live: true, Usage: "`way` of HLS at /APP/NAME.m3u8: low-latency, which plain players can play too, plain or off",
			value: text(&g.HLS), Choices: []string{HLSLow, HLSPlain, HLSOff}},
		{Name: "hls-segment", Default: "1s", Live: true, Usage: "segments last this `time` or longer, up to the next key frame",
			value: duration(&g.HLSSegment), fits: between(&g.HLSSegment, 500*time.Millisecond, 10*time.Second)},
		{Name: "hls-part", Default: "500ms", Live: true, Usage: "parts of segments last this `time` at most; viewers are three of them behind, and ask for each",
			value: duration(&g.HLSPart), fits: between(&g.HLSPart, 100*time.Millisecond, 5*time.Second)},
		{Name: "hls-segments", Default: "7", Live: true, Usage: "`N` segments in a playlist",
			value: number(&g.HLSSegments), fits: between(&g.HLSSegments, 3, 100)},
		{Name: "hls-bytes", Default: "64MiB", Live: true, Usage: "at most this `size` of segments of a stream; all streams' together are a tenth of max-memory",
			value: size(&g.HLSBytes), fits: sizeBetween(&g.HLSBytes, 1<<20, 1<<30)},
		{Name: "hls-group", Usage: "`patterns` such as live/*_720,live/*_360: live/cam1.m3u8 then offers live/cam1_720 and live/cam1_360",
			value: list(&g.HLSGroup), fits: groupsOfHLS(&g.HLSGroup)},
	}
}

// groupsOfHLS accepts patterns with one *.
func groupsOfHLS(v *[]string) func() error {
	return func() error {
		const most = 16
		if len(*v) > most {
			return fmt.Errorf("%d patterns, at most %d", len(*v), most)
		}
		for _, text := range *v {
			if strings.Count(text, "*") != 1 || strings.HasPrefix(text, "*") || !strings.Contains(text, "/") || strings.Trim(text, "*") == "" {
				return fmt.Errorf("%.60q is not of the form APP/*_SUFFIX", text)
			}
		}
		return nil
	}
}
