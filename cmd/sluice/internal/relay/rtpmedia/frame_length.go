package rtpmedia

import (
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/ac3"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// mp3Frame returns the bytes of the frame at the front of p, 0 when there is none, and
// how long it is in ticks of RTP's clock.
func mp3Frame(p []byte) (size, ticks int) {
	h, ok := au.ParseMPEGAudio(p)
	if !ok {
		return 0, 0
	}
	return h.Size, h.Samples * videoClock / h.Rate
}

// ac3Frame returns the bytes of the frame at the front of p, 0 when there is none.
func ac3Frame(p []byte) int {
	var s ac3.SyncInfo
	if s.Unmarshal(p) != nil {
		return 0
	}
	return s.FrameSize()
}
