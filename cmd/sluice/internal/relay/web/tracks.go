package web

import (
	"cmp"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// TrackInfo is one track of a stream: the main one of its kind, whose number is 0,
// or another (enhanced RTMP v2, multitrack).
type TrackInfo struct {
	Kind  string `json:"kind"` // video, audio
	Track int    `json:"track"`
	*VideoInfo
	*AudioInfo
	Codec string `json:"codec"` // in place of those of the two
}

// tracksOf lists the tracks of a stream, video first, by their numbers. video and
// audio are the main ones, which may be known without a sequence header.
func tracksOf(st *live.Stream, video *VideoInfo, audio *AudioInfo) []TrackInfo {
	list := []TrackInfo{}
	if video != nil {
		list = append(list, TrackInfo{Kind: "video", VideoInfo: video, Codec: video.Codec})
	}
	if audio != nil {
		list = append(list, TrackInfo{Kind: "audio", AudioInfo: audio, Codec: audio.Codec})
	}
	add := func(t TrackInfo) {
		same := func(have TrackInfo) bool { return have.Kind == t.Kind && have.Track == t.Track }
		if !slices.ContainsFunc(list, same) {
			list = append(list, t)
		}
	}
	st.Headers(func(typ flv.TagType, p []byte) {
		switch typ {
		case flv.TagVideo:
			if h, err := flv.ParseVideo(p); err == nil && h.Packet == flv.PacketSequenceStart { //sluicevet:ignore the header ends with this call
				au.EachTrack(h.Extension, h.Codec, p[h.Len:], func(track int, codec flv.FourCC, config []byte) {
					v := videoConfig(codec, config)
					add(TrackInfo{Kind: "video", Track: track, VideoInfo: v, Codec: v.Codec})
				})
			}
		case flv.TagAudio:
			if h, err := flv.ParseAudio(p); err == nil && h.Packet == flv.AudioSequenceStart { //sluicevet:ignore the header ends with this call
				au.EachTrack(h.Extension, h.Codec, p[h.Len:], func(track int, codec flv.FourCC, config []byte) {
					a := audioConfig(codec, config)
					add(TrackInfo{Kind: "audio", Track: track, AudioInfo: a, Codec: a.Codec})
				})
			}
		}
	})
	slices.SortStableFunc(list, func(a, b TrackInfo) int {
		return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Track, b.Track))
	})
	return list
}
