package au

// MPEGAudio is what the header of a frame of MPEG audio says (ISO/IEC 11172-3, section 2.4.2.3; ISO/IEC
// 13818-3 for half its rates). Of layer III there are quarters too, 8 to 12 kHz, which encoders call MPEG-2.5.
type MPEGAudio struct {
	Layer    int // 1 to 3
	Rate     int // Hz
	Channels int
	Samples  int // of each channel
	Size     int // bytes of the frame
}

// mpegBitrates are those of MPEG-1's three layers, then of lower rates' layer I and of their others, in
// kbit/s.
var mpegBitrates = [5][14]int{
	{32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
	{32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
	{32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
	{32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
	{8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
}

// ParseMPEGAudio reads the header at the front of p, and reports false when there is none. Frames that do
// not say their bitrate have no size, and are none.
func ParseMPEGAudio(p []byte) (h MPEGAudio, ok bool) {
	if len(p) < 4 || !BeginsMPEGAudio(p) {
		return h, false
	}
	bitrate, rate, padding := int(p[2]>>4), int(p[2]>>2&3), int(p[2]>>1&1)
	if bitrate == 0 || bitrate == 15 || rate == 3 {
		return h, false
	}
	h = MPEGAudio{Layer: 4 - int(p[1]>>1&3), Rate: []int{44100, 48000, 32000}[rate], Channels: 2, Samples: 1152}
	table := h.Layer - 1
	if version := p[1] >> 3 & 3; version != 3 {
		table = min(3+table, 4)
		h.Rate /= 2
		if version == 0 {
			h.Rate /= 2
		}
		if h.Layer == 3 {
			h.Samples = 576
		}
	}
	if p[3]>>6 == 3 {
		h.Channels = 1
	}
	bits := mpegBitrates[table][bitrate-1] * 1000
	if h.Layer == 1 {
		h.Samples = 384
		h.Size = (12*bits/h.Rate + padding) * 4
	} else {
		h.Size = h.Samples/8*bits/h.Rate + padding
	}
	return h, true
}

// BeginsMPEGAudio reports whether p, which is not empty, may be the beginning of a frame.
func BeginsMPEGAudio(p []byte) bool {
	const sync, version, reserved, layer = 0xe0, 0x18, 0x08, 0x06
	return p[0] == 0xff && (len(p) < 2 || p[1]&sync == sync && p[1]&version != reserved && p[1]&layer != 0)
}
