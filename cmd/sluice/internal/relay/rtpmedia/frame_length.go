package rtpmedia

import (
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/ac3"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg1audio"
)

// mp3Frame returns the bytes of the frame at the front of p, 0 when there is none, and
// how long it is in ticks of RTP's clock.
func mp3Frame(p []byte) (size, ticks int) {
	var h mpeg1audio.FrameHeader
	if h.Unmarshal(p) != nil || h.SampleRate == 0 {
		return 0, 0
	}
	// The library's own length is for the 1,152 samples of MPEG-1 (ISO/IEC 11172-3,
	// section 2.4.3.1); MPEG-2's layer III has 576.
	size = h.SampleCount() / 8 * h.Bitrate / h.SampleRate
	if h.Padding {
		size++
	}
	return size, h.SampleCount() * videoClock / h.SampleRate
}

// ac3Frame returns the bytes of the frame at the front of p, 0 when there is none.
func ac3Frame(p []byte) int {
	var s ac3.SyncInfo
	if s.Unmarshal(p) != nil {
		return 0
	}
	return s.FrameSize()
}
