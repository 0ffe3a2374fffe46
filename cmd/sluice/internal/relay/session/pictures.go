package session

import (
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// Came counts a frame that a publisher sends by RTMP or as FLV, borrowed until it returns, and says once in the log when
// pictures come before their sequence header. They are passed on all the same, as other servers of RTMP do: the
// header may come, and a player may know how to decode them.
func (s *Client) Came(f live.Frame) {
	s.Count(flv.TagHeaderLen + f.Payload.Len() + flv.PrevTagSizeLen)
	if s.pictures || f.Type != flv.TagVideo {
		return
	}
	h, err := flv.ParseVideo(f.Payload.Bytes())
	needs := h.Codec == flv.CodecAVC || h.Codec == flv.CodecHEVC
	bare := needs && h.Key() && !h.Config() && len(h.Body(f.Payload.Bytes())) > 0
	switch {
	case err != nil:
	case bare:
		s.pictures = true
		s.books.log.Warn("pictures come before their sequence header: viewers by RTMP and FLV get them, and most players show nothing",
			"id", s.ID, "stream", s.Stream, "protocol", s.Protocol, "address", s.Address, "codec", h.Codec)
	default:
		s.pictures = h.Config() || !needs
	}
}
