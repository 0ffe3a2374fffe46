package rtpmedia

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/pion/sdp/v3"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// Describe returns the session description (RFC 8866) of a stream with these tracks.
// Their URLs are TrackPath of their numbers, behind the stream's. ip6: the client comes by IPv6, and is to
// open its ports there.
func Describe(name string, ip6 bool, formats []Format) ([]byte, error) {
	family, own, any := "IP4", "127.0.0.1", "0.0.0.0"
	if ip6 {
		family, own, any = "IP6", "::1", "::"
	}
	d := sdp.SessionDescription{
		Origin:                sdp.Origin{Username: "-", NetworkType: "IN", AddressType: family, UnicastAddress: own},
		SessionName:           sdp.SessionName(name),
		ConnectionInformation: &sdp.ConnectionInformation{NetworkType: "IN", AddressType: family, Address: &sdp.Address{Address: any}},
		TimeDescriptions:      []sdp.TimeDescription{{}},
		Attributes:            []sdp.Attribute{sdp.NewAttribute("control", "*"), sdp.NewAttribute("range", "npt=now-")},
	}
	for i, f := range formats {
		kind := "audio"
		if f.Video {
			kind = "video"
		}
		media := &sdp.MediaDescription{MediaName: sdp.MediaName{
			Media: kind, Protos: []string{"RTP", "AVP"}, Formats: []string{strconv.Itoa(int(f.PayloadType))},
		}}
		encoding, params := f.describe()
		media.WithValueAttribute("rtpmap", fmt.Sprintf("%d %s", f.PayloadType, encoding))
		if params != "" {
			media.WithValueAttribute("fmtp", fmt.Sprintf("%d %s", f.PayloadType, params))
		}
		media.WithValueAttribute("control", TrackPath(i))
		d.MediaDescriptions = append(d.MediaDescriptions, media)
	}
	return d.Marshal()
}

// TrackPath is what the URL of a track has behind that of its stream.
func TrackPath(track int) string { return trackPath + strconv.Itoa(track) }

const trackPath = "trackID="

// IsTrackPath reports whether the last part of a URL is one that TrackPath makes.
func IsTrackPath(part string) bool { return strings.HasPrefix(part, trackPath) }

// describe returns the encoding and the parameters of a format.
func (f *Format) describe() (encoding, params string) {
	sound := func(name string) string { return fmt.Sprintf("%s/%d/%d", name, f.Clock, f.Config.Channels) }
	switch f.Codec {
	case flv.CodecAVC:
		return "H264/90000", f.describeAVC()
	case flv.CodecHEVC:
		return "H265/90000", f.describeHEVC()
	case flv.CodecAV1:
		return "AV1/90000", ""
	case flv.CodecVP9:
		return "VP9/90000", ""
	case flv.CodecAAC:
		return sound("mpeg4-generic"), fmt.Sprintf("profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=%X", f.Config.Record)
	case flv.CodecOpus:
		stereo := 0
		if f.Config.Channels > 1 {
			stereo = 1
		}
		return "opus/48000/2", fmt.Sprintf("sprop-stereo=%d", stereo) // RFC 7587, section 7: always two
	case flv.CodecMP3:
		return "MPA/90000", ""
	case flv.CodecAC3:
		return sound("AC3"), ""
	case flv.CodecALaw:
		return sound("PCMA"), ""
	default:
		return sound("PCMU"), ""
	}
}

func (f *Format) describeAVC() string {
	params := "packetization-mode=1"
	if f.Config == nil || len(f.Config.Sets) == 0 {
		return params
	}
	var sets []string
	for _, s := range f.Config.Sets {
		if len(s) >= 4 && au.NALType(f.Codec, s) == 7 && !strings.Contains(params, "profile-level-id") {
			params += fmt.Sprintf(";profile-level-id=%X", s[1:4])
		}
		sets = append(sets, base64.StdEncoding.EncodeToString(s))
	}
	return params + ";sprop-parameter-sets=" + strings.Join(sets, ",")
}

// hevcSets are the parameters with the sets (RFC 7798, section 7.1), by type of unit.
var hevcSets = map[int]string{32: "sprop-vps", 33: "sprop-sps", 34: "sprop-pps"}

func (f *Format) describeHEVC() string {
	if f.Config == nil {
		return ""
	}
	var params []string
	for _, kind := range []int{32, 33, 34} {
		var sets []string
		for _, s := range f.Config.Sets {
			if au.NALType(f.Codec, s) == kind {
				sets = append(sets, base64.StdEncoding.EncodeToString(s))
			}
		}
		if len(sets) > 0 {
			params = append(params, hevcSets[kind]+"="+strings.Join(sets, ","))
		}
	}
	return strings.Join(params, ";")
}

// Limits of a description, beyond that of its bytes, which the caller has.
const (
	// MaxTracks bounds the media in a description that is parsed.
	MaxTracks = 16
	// maxSDP bounds its bytes.
	maxSDP = 64 << 10
)

// A Track is one medium of a description.
type Track struct {
	Format
	Err error // why it cannot be taken, such as a codec that is not known; matches ErrCodec
}

// Parse reads a session description. An error matches ErrSyntax. A track that cannot be
// taken has its error, and the others count.
func Parse(p []byte) ([]Track, error) {
	if len(p) > maxSDP {
		return nil, fmt.Errorf("%w: a description of %d bytes, at most %d", ErrSyntax, len(p), maxSDP)
	}
	media := readMedia(p)
	if n := len(media); n == 0 || n > MaxTracks {
		return nil, fmt.Errorf("%w: a description of %d media, 1 to %d are taken", ErrSyntax, n, MaxTracks)
	}
	var tracks []Track
	for i := range media {
		f, err := parseMedium(&media[i])
		f.Control = media[i].attribute("control")
		tracks = append(tracks, Track{f, err})
	}
	return tracks, nil
}

// parseMedium reads one medium with its first format, the preferred one.
func parseMedium(m *medium) (Format, error) {
	var f Format
	if len(m.formats) == 0 {
		return f, fmt.Errorf("%w: a medium without a format", ErrSyntax)
	}
	number := m.formats[0]
	kind, err := strconv.ParseUint(number, 10, 7)
	if err != nil {
		return f, fmt.Errorf("%w: payload type %.20q", ErrSyntax, number)
	}
	f.PayloadType = uint8(kind)
	f.Video = m.kind == "video"
	encoding := m.of("rtpmap", number)
	if encoding == "" {
		encoding = map[uint8]string{0: "PCMU/8000", 8: "PCMA/8000", 14: "MPA/90000"}[f.PayloadType]
	}
	return f, f.parse(encoding, Params(m.of("fmtp", number)))
}

// ParseFormat reads one format of a medium: encoding is NAME/CLOCK/CHANNELS, params are
// those of its fmtp attribute. An error matches ErrCodec or ErrSyntax.
func ParseFormat(video bool, payloadType uint8, encoding string, params map[string]string) (Format, error) {
	f := Format{Video: video, PayloadType: payloadType}
	err := f.parse(encoding, params)
	return f, err
}

// Params are the parameters in an fmtp attribute, by their names in small letters.
func Params(text string) map[string]string {
	params := map[string]string{}
	for one := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(one), "=")
		params[strings.ToLower(name)] = value
	}
	return params
}

// parse reads the encoding, NAME/CLOCK/CHANNELS, and its parameters.
func (f *Format) parse(encoding string, params map[string]string) error {
	name, rest, _ := strings.Cut(encoding, "/")
	rate, count, _ := strings.Cut(rest, "/")
	if encoding == "" {
		return fmt.Errorf("%w: payload type %d has no rtpmap that names it", ErrCodec, f.PayloadType)
	}
	clock, err := strconv.ParseUint(rate, 10, 20)
	if err != nil || clock == 0 {
		return fmt.Errorf("%w: %.40q", ErrCodec, encoding)
	}
	f.Clock = int(clock)
	channels := 1
	if n, err := strconv.ParseUint(count, 10, 4); err == nil && n > 0 {
		channels = int(n)
	}
	switch name = strings.ToUpper(name); {
	case f.Video && interleaved(name, params):
		return fmt.Errorf("%w: %s in packets that are not in the order of decoding", ErrCodec, name)
	case name == "H264" && f.Video:
		f.Codec = flv.CodecAVC
		f.Config, _ = au.NewVideoConfig(f.Codec, decodeSets(params["sprop-parameter-sets"]))
	case (name == "H265" || name == "HEVC") && f.Video:
		f.Codec = flv.CodecHEVC
		f.Config, _ = au.NewVideoConfig(f.Codec, decodeSets(params["sprop-vps"]+","+params["sprop-sps"]+","+params["sprop-pps"]))
	case name == "AV1" && f.Video:
		f.Codec = flv.CodecAV1
	case name == "VP9" && f.Video:
		f.Codec = flv.CodecVP9
	case name == "MPEG4-GENERIC" && !f.Video:
		return f.parseAAC(params)
	case name == "MP4A-LATM" && !f.Video:
		return f.parseLATM(params)
	case name == "OPUS" && !f.Video:
		channels = 2
		if params["sprop-stereo"] == "0" {
			channels = 1
		}
		f.Codec, f.Config = flv.CodecOpus, au.NewOpusConfig(channels)
	case name == "PCMA" && f.Clock == 8000:
		f.Codec = flv.CodecALaw
	case name == "PCMU" && f.Clock == 8000:
		f.Codec = flv.CodecMuLaw
	case name == "MPA" && !f.Video:
		f.Codec = flv.CodecMP3
	case name == "AC3" && !f.Video:
		f.Codec = flv.CodecAC3
	default:
		return fmt.Errorf("%w: %.40q", ErrCodec, encoding)
	}
	if !f.Video && f.Config == nil {
		f.Config = au.NewPlainConfig(f.Codec, f.Clock, channels)
	}
	return nil
}

// interleaved reports whether units are not sent in the order of decoding, in packets of another form (RFC 6184,
// section 6.4; RFC 7798, section 7.1).
func interleaved(name string, params map[string]string) bool {
	switch name {
	case "H264":
		return params["packetization-mode"] == "2"
	case "H265", "HEVC":
		return strings.Trim(params["sprop-max-don-diff"], "0 ") != ""
	}
	return false
}

// maxSets bounds the parameter sets of one description.
const maxSets = 64

// decodeSets reads parameter sets, also those that have no padding, or a start code before
// them, as some cameras describe them.
func decodeSets(list string) [][]byte {
	var sets [][]byte
	for text := range strings.SplitSeq(list, ",") {
		p, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(text), "="))
		if p = bytes.TrimPrefix(p, []byte{0, 0, 0, 1}); err == nil && len(p) > 0 && len(sets) < maxSets {
			sets = append(sets, p)
		}
	}
	return sets
}

func (f *Format) parseAAC(params map[string]string) error {
	config, err := hex.DecodeString(params["config"])
	if err != nil {
		return fmt.Errorf("%w: AAC configuration %.40q", ErrSyntax, params["config"])
	}
	if f.Config, err = au.NewAACConfig(config); err != nil {
		return fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	f.Codec = flv.CodecAAC
	for _, b := range []struct {
		name string
		bits *int
	}{{"sizelength", &f.sizeBits}, {"indexlength", &f.indexBits}, {"indexdeltalength", &f.deltaBits}} {
		n, err := strconv.ParseUint(params[b.name], 10, 5)
		if params[b.name] == "" {
			n, err = 0, nil
		}
		if err != nil || n > 16 {
			return fmt.Errorf("%w: %s=%.20q", ErrSyntax, b.name, params[b.name])
		}
		*b.bits = int(n)
	}
	if f.sizeBits == 0 {
		return fmt.Errorf("%w: AAC without sizelength", ErrCodec)
	}
	return nil
}
