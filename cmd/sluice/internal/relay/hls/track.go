package hls

import (
	"bytes"
	"fmt"
	"math/bits"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/flv"
)

// videoScale is the ticks a second of pictures, as is usual. The ring's milliseconds are
// whole ticks.
const videoScale = 90000

// carries reports whether HLS has a form for a codec (rfc8216bis, section 3.1.2; Apple's
// HLS authoring specification; AV1, Opus and FLAC as browsers take them in fragmented MP4). MP3
// and AC-3 have one that Chromium does not take: it would play no pictures beside them.
func carries(codec flv.FourCC) bool {
	switch codec {
	case flv.CodecAVC, flv.CodecHEVC, flv.CodecAV1, flv.CodecAAC, flv.CodecOpus, flv.CodecFLAC:
		return true
	}
	return false
}

// scaleOf returns the ticks a second of a track.
func scaleOf(video bool, c *au.Config) int64 {
	if video || c.Rate <= 0 {
		return videoScale
	}
	return int64(c.Rate)
}

// An initialization is the head of a movie whose fragments follow, and what playlists say
// of it.
type initialization struct {
	number int
	bytes  []byte
	codecs string // for CODECS
	picture
	have    [2]bool
	counted int64 // bytes that memory was taken for
	front   int   // the kind of track that stands first in fragments, 0 pictures, 1 sound
}

// A picture is what playlists say of pictures.
type picture struct {
	width, height int    // as they are shown; 0: not known, or no picture
	dynamic       string // the range, for VIDEO-RANGE (rfc8216bis, section 4.4.6.2); "": the standard one
}

// pictureOf returns what playlists say of pictures with a configuration.
func pictureOf(c *au.Config) (p picture) {
	look := c.Look()
	if v, err := flv.ParseVideoConfig(c.Codec, c.Record); err == nil {
		p.width, p.height = look.Shown(v.Width), v.Height
	}
	switch look.Transfer {
	case au.TransferPQ:
		p.dynamic = "PQ"
	case au.TransferHLG:
		p.dynamic = "HLG"
	}
	return p
}

// follows takes what there was before. A track that has come later stands first: ffmpeg, and what is built on it,
// passes over every head but the first, and ends where a fragment begins with a track that it does not know.
// Behind one that it knows it takes its samples for that one's.
func (in *initialization) follows(before *initialization) {
	in.front = before.front
	for kind, have := range in.have {
		if have && !before.have[kind] {
			in.front = kind
		}
		in.have[kind] = have || before.have[kind]
	}
}

// newInitialization makes the head of a movie with these tracks, nil for one that there
// is not. Pictures are track 1, sound is track 2.
func newInitialization(video, audio *au.Config) (initialization, error) {
	var tracks []mp4.Track
	var names []string
	var in initialization
	for i, c := range []*au.Config{video, audio} {
		if c == nil {
			continue
		}
		t, err := mp4.ConfigTrack(uint32(i+1), i == 0, c)
		if err != nil {
			return in, err
		}
		tracks = append(tracks, t)
		names = append(names, codecName(c))
		in.have[i] = true
	}
	if video != nil {
		in.picture = pictureOf(video)
	}
	p, err := mp4.Front(tracks)
	if err != nil {
		return in, fmt.Errorf("%w: initialization: %w", au.ErrSyntax, err)
	}
	in.bytes, in.codecs = p, strings.Join(names, ",")
	return in, nil
}

// hasForm reports whether there can be a track of a kind, 0 pictures, 1 sound, with a configuration.
func hasForm(kind int, c *au.Config) bool {
	if !carries(c.Codec) || len(c.Record) == 0 || kind == 1 && silence(c) == nil {
		return false
	}
	var both [2]*au.Config
	both[kind] = c
	// The library looks at some parameters only when it writes them.
	_, err := newInitialization(both[0], both[1])
	return err == nil
}

// codecName returns a codec's name for CODECS (RFC 6381), from its record, which has
// been parsed; "" for a codec that no playlist has.
func codecName(c *au.Config) string {
	r := c.Record
	switch c.Codec {
	case flv.CodecAVC:
		return fmt.Sprintf("avc1.%02x%02x%02x", r[1], r[2], r[3])
	case flv.CodecHEVC:
		return hevcName(r)
	case flv.CodecAV1:
		// AV1 Codec ISO Media File Format Binding, section 5.
		depth := 8
		if r[2]&0x40 != 0 {
			depth = 10
			if r[2]&0x20 != 0 {
				depth = 12
			}
		}
		return fmt.Sprintf("av01.%d.%02d%c.%02d", r[1]>>5, r[1]&0x1f, "MH"[r[2]>>7], depth)
	case flv.CodecAAC:
		kind := int(r[0] >> 3)
		if kind == 31 && len(r) > 1 {
			kind = 32 + int(r[0]&7)<<3 + int(r[1]>>5)
		}
		return fmt.Sprintf("mp4a.40.%d", kind)
	case flv.CodecMP3:
		return "mp4a.6B" // as package mp4 has it (ISO/IEC 14496-1, table 5)
	case flv.CodecFLAC:
		return "fLaC"
	case flv.CodecOpus:
		return "opus"
	case flv.CodecAC3:
		return "ac-3"
	}
	return ""
}

// hevcName is the name of HEVC (ISO/IEC 14496-15, annex E.3).
func hevcName(r []byte) string {
	space := []string{"", "A", "B", "C"}[r[1]>>6]
	tier := "LH"[r[1]>>5&1]
	flags := uint32(r[2])<<24 | uint32(r[3])<<16 | uint32(r[4])<<8 | uint32(r[5])
	name := fmt.Sprintf("hvc1.%s%d.%X.%c%d", space, r[1]&0x1f, bits.Reverse32(flags), tier, r[12])
	constraints := bytes.TrimRight(r[6:12], "\x00")
	for _, b := range constraints {
		name += fmt.Sprintf(".%X", b)
	}
	return name
}
