package web

import (
	"cmp"
	"context"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// VideoInfo is what is known about a stream's video.
type VideoInfo struct {
	Codec  string `json:"codec"`
	Width  int    `json:"width"` // 0: not known
	Height int    `json:"height"`
	// ShownWidth is how wide pictures are where pixels are square; 0: they are.
	ShownWidth int `json:"shown_width,omitempty"`
}

// AudioInfo is what is known about a stream's audio.
type AudioInfo struct {
	Codec    string `json:"codec"`
	Rate     int    `json:"rate"` // Hz, 0: not known
	Channels int    `json:"channels"`
}

// mediaInfo returns what a stream carries, from its sequence headers, or for codecs without
// them from its newest frames, and what these do not say from its metadata. nil means not known.
func mediaInfo(st *live.Stream, f live.StreamStats) (*VideoInfo, *AudioInfo) {
	video, audio := videoOf(f.VideoConfig), audioOf(f.AudioConfig)
	if video != nil && video.Width > 0 && audio != nil {
		return video, audio
	}
	meta := metadataOf(st)
	said := func(name string) bool { return meta == nil || meta.Number(name) != 0 }
	if video == nil && said("videocodecid") || audio == nil && said("audiocodecid") {
		v, a := mediaOfFrames(st)
		video = cmp.Or(video, v)
		if a != nil && (a.Rate > 0 || meta == nil) {
			audio = cmp.Or(audio, a)
		}
	}
	if id := meta.Number("videocodecid"); video == nil && id != 0 {
		video = &VideoInfo{Codec: videoCodec(id)}
	}
	if video != nil && video.Width == 0 {
		video.Width, video.Height = pixels(meta.Number("width")), pixels(meta.Number("height"))
	}
	if id := meta.Number("audiocodecid"); audio == nil && id != 0 {
		audio = &AudioInfo{Codec: audioCodec(id), Rate: pixels(meta.Number("audiosamplerate")), Channels: 1}
		if stereo, ok := meta.Get("stereo"); ok && stereo == true {
			audio.Channels = 2
		}
	}
	return video, audio
}

// mediaOfFrames is mediaInfo by the frames that there are now.
func mediaOfFrames(st *live.Stream) (video *VideoInfo, audio *AudioInfo) {
	now, cancel := context.WithCancel(context.Background())
	cancel() // more is not waited for
	v, a, _ := au.Discover(now, st, 0, nil)
	if v != nil {
		video = videoConfig(v.Codec, v.Record)
	}
	if a != nil {
		audio = &AudioInfo{Codec: a.Codec.String(), Rate: a.Rate, Channels: a.Channels}
	}
	return video, audio
}

func videoOf(tag []byte) *VideoInfo {
	h, err := flv.ParseVideo(tag)
	if err != nil || len(tag) == 0 {
		return nil
	}
	return videoConfig(h.Codec, tag[h.Len:])
}

// videoConfig is what a decoder configuration says.
func videoConfig(codec flv.FourCC, config []byte) *VideoInfo {
	info := &VideoInfo{Codec: codec.String()}
	c, err := flv.ParseVideoConfig(codec, config)
	if err != nil {
		return info
	}
	info.Width, info.Height = c.Width, c.Height
	if p, err := au.ParseConfig(codec, config); err == nil {
		if look := p.Look(); !look.Square() {
			info.ShownWidth = look.Shown(c.Width)
		}
	}
	return info
}

func audioOf(tag []byte) *AudioInfo {
	h, err := flv.ParseAudio(tag)
	if err != nil || len(tag) == 0 {
		return nil
	}
	return audioConfig(h.Codec, tag[h.Len:])
}

func audioConfig(codec flv.FourCC, config []byte) *AudioInfo {
	info := &AudioInfo{Codec: codec.String()}
	if c, err := flv.ParseAudioConfig(codec, config); err == nil {
		info.Rate, info.Channels = c.Rate, c.Channels
	}
	return info
}

// metadataOf is what the stream's onMetaData says of what it carries, nil when there is none.
func metadataOf(st *live.Stream) (meta amf0.Object) {
	st.Headers(func(typ flv.TagType, p []byte) {
		if typ != flv.TagScript {
			return
		}
		if said := au.Said(p, "videocodecid", "audiocodecid", "width", "height", "audiosamplerate", "stereo"); said != nil {
			meta = said
		}
	})
	return meta
}

// videoCodec returns the name of a codec by its number in the metadata, which is
// the one in a tag's header, or of enhanced RTMP its four letters.
func videoCodec(id float64) string {
	if id > 0xff {
		return flv.FourCC(id).String()
	}
	h, err := flv.ParseVideo([]byte{uint8(id) & 0x0f, 0, 0, 0, 0})
	if err != nil {
		return ""
	}
	return h.Codec.String()
}

func audioCodec(id float64) string {
	if id > 0xff {
		return flv.FourCC(id).String()
	}
	h, err := flv.ParseAudio([]byte{uint8(id) << 4, 0})
	if err != nil {
		return ""
	}
	return h.Codec.String()
}

// pixels converts a size from a publisher's metadata, and returns 0 when it is
// out of range.
func pixels(x float64) int {
	if !(x >= 0 && x < 1<<24) {
		return 0
	}
	return int(x)
}
