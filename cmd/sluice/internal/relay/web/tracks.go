package web

import (
	"cmp"
	"encoding/binary"
	"slices"

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
				eachTrack(h.Extension, h.Codec, p[h.Len:], func(track int, codec flv.FourCC, config []byte) {
					v := videoConfig(codec, config)
					add(TrackInfo{Kind: "video", Track: track, VideoInfo: v, Codec: v.Codec})
				})
			}
		case flv.TagAudio:
			if h, err := flv.ParseAudio(p); err == nil && h.Packet == flv.AudioSequenceStart { //sluicevet:ignore the header ends with this call
				eachTrack(h.Extension, h.Codec, p[h.Len:], func(track int, codec flv.FourCC, config []byte) {
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

// eachTrack calls yield with the tracks of a packet: first the one that x is
// about, at the front of rest. A packet that is cut off ends there.
func eachTrack(x flv.Extension, codec flv.FourCC, rest []byte, yield func(track int, codec flv.FourCC, config []byte)) {
	if x.Tracks <= flv.TrackOne {
		yield(int(x.Track), codec, rest)
		return
	}
	for track, size := int(x.Track), x.TrackSize; size <= len(rest); {
		yield(track, codec, rest[:size])
		rest = rest[size:]
		if x.Tracks == flv.TrackManyCodecs {
			if len(rest) < 4 {
				return
			}
			codec, rest = flv.FourCC(binary.BigEndian.Uint32(rest)), rest[4:]
		}
		if len(rest) < 4 {
			return
		}
		track, size = int(rest[0]), int(rest[1])<<16|int(rest[2])<<8|int(rest[3])
		rest = rest[4:]
	}
}
