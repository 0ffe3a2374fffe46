package au

import (
	"encoding/binary"
	"fmt"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// Others lists the tracks of a stream that a Splitter does not take, as "video 1": by the
// headers that have come, all of a kind but that with the lowest number.
func Others(source *live.Stream) (names []string) {
	var have [2][256]bool // of pictures and of sound, by number
	source.Headers(func(typ flv.TagType, p []byte) {
		switch typ {
		case flv.TagVideo:
			if h, err := flv.ParseVideo(p); err == nil && h.Packet == flv.PacketSequenceStart { //sluicevet:ignore the header ends with this call
				EachTrack(h.Extension, h.Codec, p[h.Len:], func(track int, _ flv.FourCC, _ []byte) { have[0][track] = true })
			}
		case flv.TagAudio:
			if h, err := flv.ParseAudio(p); err == nil && h.Packet == flv.AudioSequenceStart { //sluicevet:ignore the header ends with this call
				EachTrack(h.Extension, h.Codec, p[h.Len:], func(track int, _ flv.FourCC, _ []byte) { have[1][track] = true })
			}
		}
	})
	for i, kind := range []string{"video", "audio"} {
		taken := false
		for track, there := range have[i] {
			if there && taken {
				names = append(names, fmt.Sprintf("%s %d", kind, track))
			}
			taken = taken || there
		}
	}
	return names
}

// EachTrack calls yield with the tracks of a packet: first the one that x is
// about, at the front of rest. A packet that is cut off ends there.
func EachTrack(x flv.Extension, codec flv.FourCC, rest []byte, yield func(track int, codec flv.FourCC, config []byte)) {
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
