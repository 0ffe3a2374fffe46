package flv

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A FrameType says how a picture depends on others (section E.4.3.1).
type FrameType uint8

// Types of frames.
const (
	FrameKey        FrameType = 1
	FrameInter      FrameType = 2
	FrameDisposable FrameType = 3 // nothing depends on it
	FrameGenerated  FrameType = 4 // a key frame that a server has made
	FrameCommand    FrameType = 5 // no picture: a word to the player
)

// A PacketType says what a video packet is: AVCPacketType for the classic form,
// VideoPacketType for the enhanced one, which begins with the same three.
type PacketType uint8

// Types of packets.
const (
	PacketSequenceStart        PacketType = 0 // the decoder's configuration
	PacketCodedFrames          PacketType = 1
	PacketSequenceEnd          PacketType = 2
	PacketCodedFramesX         PacketType = 3 // CodedFrames whose composition time is 0 and not sent
	PacketMetadata             PacketType = 4 // AMF: colorInfo for HDR
	PacketMPEG2TSSequenceStart PacketType = 5 // AV1 only
)

const (
	videoMultitrack = 6
	packetModEx     = 7 // in audio too
)

// A VideoHeader is what the payload of a video tag begins with, in the classic
// form (section E.4.3.1) or the enhanced one.
type VideoHeader struct {
	Frame           FrameType
	Codec           FourCC
	Packet          PacketType // PacketCodedFrames for codecs that have no types of packets
	CompositionTime int32      // ms, 24 bits: the picture is shown at the tag's time and this
	Command         uint8      // with FrameCommand: 0 start of seeking, 1 end
	Enhanced        bool       // the form
	Extension                  // of the enhanced form
	Len             int        // of the header in bytes: the rest of the payload, or of the track, is the codec's. Append does not look at it
}

const (
	videoEnhanced = 0x80
	frameMask     = 7
	numberMask    = 0x0f
	packetMask    = 0x0f
)

// ParseVideo reads the header at the front of a video tag's payload. p is
// borrowed until it returns, and as long as ModEx is looked at. It allocates
// nothing. Errors are ErrSyntax and, for a header that is cut off,
// io.ErrUnexpectedEOF.
func ParseVideo(p []byte) (VideoHeader, error) {
	if len(p) == 0 {
		return VideoHeader{}, errCut("video", 0)
	}
	h := VideoHeader{Frame: FrameType(p[0] >> 4 & frameMask), Packet: PacketCodedFrames, Len: 1}
	if p[0]&videoEnhanced != 0 {
		h.Enhanced = true
		err := h.parseEnhanced(p)
		if err != nil {
			return VideoHeader{}, err
		}
		return h, nil
	}
	h.Codec = numbered(&videoNumbers, p[0]&numberMask)
	switch {
	case h.Frame == FrameCommand:
		if len(p) < 2 {
			return VideoHeader{}, errCut("video", len(p))
		}
		h.Command, h.Len = p[1], 2
	case h.Codec.packets():
		if len(p) < 5 {
			return VideoHeader{}, errCut("video", len(p))
		}
		h.Packet, h.CompositionTime, h.Len = PacketType(p[1]), int24(p[2:]), 5
	}
	return h, nil
}

func (h *VideoHeader) parseEnhanced(p []byte) error {
	packet, err := h.parseModEx(p)
	if err != nil {
		return err
	}
	h.Len = 1 + len(h.ModEx)
	if h.Frame == FrameCommand && packet != uint8(PacketMetadata) {
		if len(p) <= h.Len {
			return errCut("video", len(p))
		}
		h.Packet, h.Command = PacketType(packet), p[h.Len]
		h.Len++
		return nil
	}
	if packet, h.Codec, h.Len, err = h.parseTracks(p, h.Len, packet, videoMultitrack); err != nil {
		return err
	}
	h.Packet = PacketType(packet)
	if h.Packet == PacketCodedFrames && h.Codec.reorders() {
		if len(p) < h.Len+3 {
			return errCut("video", len(p))
		}
		h.CompositionTime = int24(p[h.Len:])
		h.Len += 3
	}
	return nil
}

// Append appends the header to dst: for what ParseVideo returned, the bytes that
// it read. A codec without a number is written in the enhanced form, whatever
// Enhanced says. What does not fit its bits panics. dst is borrowed until the call returns; the
// result is the caller's.
func (h VideoHeader) Append(dst []byte) []byte {
	if h.Frame > frameMask || h.CompositionTime < -1<<23 || h.CompositionTime > 1<<23-1 {
		panic(fmt.Sprintf("flv: VideoHeader.Append of frame type %d, composition time %d", h.Frame, h.CompositionTime))
	}
	n, ok := h.Codec.number(&videoNumbers)
	if h.Enhanced || !ok {
		return h.appendEnhanced(dst)
	}
	dst = append(dst, byte(h.Frame)<<4|n)
	switch {
	case h.Frame == FrameCommand:
		dst = append(dst, h.Command)
	case h.Codec.packets():
		dst = appendUint24(append(dst, byte(h.Packet)), uint32(h.CompositionTime))
	}
	return dst
}

func (h VideoHeader) appendEnhanced(dst []byte) []byte {
	command := h.Frame == FrameCommand && h.Packet != PacketMetadata
	dst, at := append(dst, videoEnhanced|byte(h.Frame)<<4), len(dst)
	dst = h.append(dst, at, uint8(h.Packet), videoMultitrack, h.Codec, command)
	switch {
	case command:
		dst = append(dst, h.Command)
	case h.Packet == PacketCodedFrames && h.Codec.reorders():
		dst = appendUint24(dst, uint32(h.CompositionTime))
	}
	return dst
}

// Body returns the view of p, of which h was parsed, that is the codec's: what
// is behind the header, of several tracks the first.
func (h *VideoHeader) Body(p []byte) []byte {
	fields := 0
	if h.Packet == PacketCodedFrames && h.Codec.reorders() {
		fields = 3
	}
	return h.body(p, h.Len, fields)
}

// Key reports whether a decoder that has the configuration can start here: a
// coded key frame, not a sequence header. Of several tracks the first counts.
func (h VideoHeader) Key() bool {
	return h.Frame == FrameKey && h.coded()
}

// Config reports whether this is a sequence header: the configuration without
// which nothing can be decoded.
func (h VideoHeader) Config() bool {
	if h.Frame == FrameCommand {
		return false
	}
	return h.Packet == PacketSequenceStart || h.Enhanced && h.Packet == PacketMPEG2TSSequenceStart
}

// Metadata reports whether this is enhanced RTMP's packet of values about the
// pictures that follow: no picture itself.
func (h VideoHeader) Metadata() bool { return h.Enhanced && h.Packet == PacketMetadata }

// coded reports whether there is a picture, or a part of one.
func (h VideoHeader) coded() bool {
	if h.Frame == FrameCommand {
		return false
	}
	return h.Packet == PacketCodedFrames || h.Enhanced && h.Packet == PacketCodedFramesX
}

func int24(p []byte) int32 {
	return int32(uint24(p)<<8) >> 8
}

// errCut is the error of a header that is cut off. It is made out of line so
// that parsing allocates nothing.
//
//go:noinline
func errCut(what string, n int) error {
	return fmt.Errorf("flv: %s header: cut off after %d bytes: %w", what, n, io.ErrUnexpectedEOF)
}

func fourCC(p []byte) FourCC { return FourCC(binary.BigEndian.Uint32(p)) }
