package push

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/rtmp"
)

// ErrCodec means that a stream has a codec that its target has not said it takes.
var ErrCodec = errors.New("push: the target does not say that it takes this codec of enhanced RTMP")

// takes returns an error that matches ErrCodec for the body of a tag in the form of
// enhanced RTMP with a codec that a target does not take. The body is borrowed.
func takes(all bool, said rtmp.Capabilities, kind flv.TagType, body []byte) error {
	if all {
		return nil
	}
	var codec flv.FourCC
	switch kind {
	case flv.TagVideo:
		h, err := flv.ParseVideo(body)
		if err != nil || !h.Enhanced {
			return nil
		}
		codec = h.Codec
	case flv.TagAudio:
		h, err := flv.ParseAudio(body)
		if err != nil || !h.Enhanced {
			return nil
		}
		codec = h.Codec
	default:
		return nil
	}
	name := codec.String()
	for _, c := range said.FourCCs {
		if c == "*" || c == name {
			return nil
		}
	}
	of := said.Video
	if kind == flv.TagAudio {
		of = said.Audio
	}
	for _, c := range []string{"*", name} {
		if of[c]&(rtmp.CanDecode|rtmp.CanForward) != 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: %s; enhanced: before its address says that it does", ErrCodec, name)
}
