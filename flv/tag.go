package flv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sluice-go/sluice/mem"
)

// Errors that callers match with errors.Is; what is returned says where it
// happened. Input that ends inside something is io.ErrUnexpectedEOF.
var (
	// ErrSyntax: the bytes are not what FLV has there.
	ErrSyntax = errors.New("flv: syntax error")
	// ErrTooLong: a tag is longer than the limit. It is still in the reader.
	ErrTooLong = errors.New("flv: limit exceeded")
)

// Lengths in bytes.
const (
	HeaderLen      = 9  // of the file's header
	TagHeaderLen   = 11 // of what is before a payload
	PrevTagSizeLen = 4  // of the size that follows a tag, and that of none after the file's header
	MaxPayload     = 1<<24 - 1
)

// A TagType says what a tag's payload is (section E.4.1).
type TagType uint8

// The types of tags that exist.
const (
	TagAudio  TagType = 8
	TagVideo  TagType = 9
	TagScript TagType = 18
)

func (t TagType) String() string {
	switch t {
	case TagAudio:
		return "audio"
	case TagVideo:
		return "video"
	case TagScript:
		return "script"
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// A Header is what an FLV file begins with (section E.2): a statement of what
// will come, which senders do not always keep to.
type Header struct {
	Audio bool `json:"audio"`
	Video bool `json:"video"`
}

const (
	headerVideo = 1 << 0
	headerAudio = 1 << 2
)

// ParseHeader reads the header at the front of p, borrowed until it returns. It
// may be longer than HeaderLen by what the file says in it: length is where the
// size of the tag before the first, 4 bytes, begins.
func ParseHeader(p []byte) (h Header, length int, err error) {
	if len(p) < HeaderLen {
		return Header{}, 0, fmt.Errorf("flv: file header: %d bytes of %d: %w", len(p), HeaderLen, io.ErrUnexpectedEOF)
	}
	if string(p[:3]) != "FLV" {
		return Header{}, 0, fmt.Errorf("%w: not an FLV file, it begins with %q", ErrSyntax, p[:3])
	}
	// The version, p[3], has been 1 for ever; what another would change is not known.
	offset := binary.BigEndian.Uint32(p[5:])
	if offset < HeaderLen || offset > maxHeader {
		return Header{}, 0, fmt.Errorf("%w: a file header of %d bytes", ErrSyntax, offset)
	}
	return Header{Audio: p[4]&headerAudio != 0, Video: p[4]&headerVideo != 0}, int(offset), nil
}

// maxHeader is the longest file header that is passed over. All known ones have
// 9 bytes.
const maxHeader = 4096

// Append appends the header to dst, HeaderLen bytes. In a stream the size of no
// tag, PrevTagSizeLen bytes of 0, follows it. dst is borrowed until the call returns; the result is
// the caller's.
func (h Header) Append(dst []byte) []byte {
	flags := byte(0)
	if h.Audio {
		flags |= headerAudio
	}
	if h.Video {
		flags |= headerVideo
	}
	return append(dst, 'F', 'L', 'V', 1, flags, 0, 0, 0, HeaderLen)
}

// A TagHeader is what comes before a tag's payload (section E.4.1).
type TagHeader struct {
	Type     TagType
	Size     int    // of the payload in bytes
	Time     uint32 // ms
	StreamID uint32 // 24 bits, always 0 in a file
	Filter   bool   // the payload is encrypted (annex F)
}

const (
	tagTypeMask = 0x1f
	tagFilter   = 0x20
	tagReserved = 0xc0
)

// ParseTagHeader reads the TagHeaderLen bytes at the front of p, borrowed until
// it returns. A type that does not exist is no error; reserved bits that are
// set are ErrSyntax, since then these bytes are hardly a tag.
func ParseTagHeader(p []byte) (TagHeader, error) {
	if len(p) < TagHeaderLen {
		return TagHeader{}, fmt.Errorf("flv: tag header: %d bytes of %d: %w", len(p), TagHeaderLen, io.ErrUnexpectedEOF)
	}
	if p[0]&tagReserved != 0 {
		return TagHeader{}, fmt.Errorf("%w: a tag of type %#02x", ErrSyntax, p[0])
	}
	return TagHeader{
		Type:     TagType(p[0] & tagTypeMask),
		Filter:   p[0]&tagFilter != 0,
		Size:     int(uint24(p[1:])),
		Time:     uint24(p[4:]) | uint32(p[7])<<24,
		StreamID: uint24(p[8:]),
	}, nil
}

// Append appends the header to dst, TagHeaderLen bytes. A type, size or stream
// that does not fit its bits panics. dst is borrowed until the call returns; the result is the
// caller's.
func (h TagHeader) Append(dst []byte) []byte {
	if h.Type > tagTypeMask || uint(h.Size) > MaxPayload || h.StreamID > 1<<24-1 {
		panic(fmt.Sprintf("flv: TagHeader.Append of type %d, %d bytes, stream %d", h.Type, h.Size, h.StreamID))
	}
	first := byte(h.Type)
	if h.Filter {
		first |= tagFilter
	}
	return append(dst, first,
		byte(h.Size>>16), byte(h.Size>>8), byte(h.Size),
		byte(h.Time>>16), byte(h.Time>>8), byte(h.Time), byte(h.Time>>24),
		byte(h.StreamID>>16), byte(h.StreamID>>8), byte(h.StreamID))
}

// A Tag is one packet of audio, video or script data. Its payload is retained
// by the holder of the tag, and a Tag is moved, not copied, like the Buf in it.
type Tag struct {
	Type     TagType
	Filter   bool   // the payload is encrypted
	Time     uint32 // ms
	StreamID uint32
	Payload  mem.Buf // without the headers that FLV puts before it; those of audio and video are in it. Without bytes it is a Buf of none, as Get(0) returns it, and not the zero Buf
}

// Release releases the payload. Like a Buf's, a second one panics.
func (t *Tag) Release() { t.Payload.Release() }

// Header returns the header that goes before the tag.
func (t *Tag) Header() TagHeader {
	return TagHeader{Type: t.Type, Size: t.Payload.Len(), Time: t.Time, StreamID: t.StreamID, Filter: t.Filter}
}

func uint24(p []byte) uint32 {
	return uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2])
}

func appendUint24(p []byte, v uint32) []byte {
	return append(p, byte(v>>16), byte(v>>8), byte(v))
}
