package webrtc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/flv"
)

// carries returns the format of a track of a stream, an error for codecs that browsers
// have no form for.
func carries(c *au.Config) (rtpmedia.Format, error) {
	f, err := rtpmedia.NewFormat(c)
	if err != nil {
		return f, err
	}
	plain := f.Codec == flv.CodecALaw || f.Codec == flv.CodecMuLaw
	if mimeTypes[f.Codec] == "" || plain && (c.Channels != 1 || c.Rate != 8000) {
		return f, fmt.Errorf("%w: %v", ErrNoCodec, c.Codec)
	}
	return f, nil
}

// forStream returns the format in which a client takes a track of a stream: of several
// that with the profile of the stream, since there are decoders for one profile only; else
// the first.
func (o *offer) forStream(track rtpmedia.Format) (offered, bool) {
	var found []offered
	for _, m := range o.media {
		if !m.receives || m.video != track.Video {
			continue
		}
		for _, f := range m.formats {
			if f.Codec == track.Codec {
				found = append(found, f)
			}
		}
	}
	if len(found) == 0 {
		return offered{}, false
	}
	if i := slices.IndexFunc(found, func(f offered) bool { return f.suits(track) }); i >= 0 {
		return found[i], true
	}
	return found[0], true
}

// lacks returns those of a stream's absent kinds that the client would take.
func (o *offer) lacks(absent rtpfeed.Absent) rtpfeed.Absent {
	takes := func(video bool) bool {
		return slices.ContainsFunc(o.media, func(m medium) bool { return m.receives && m.video == video && len(m.formats) > 0 })
	}
	return rtpfeed.Absent{Video: absent.Video && takes(true), Audio: absent.Audio && takes(false)}
}

// suits reports whether a format has the profile of a track of its codec, if that is known:
// as it is written in profile-level-id (RFC 6184), without the constraints, in profile-id (RFC
// 7798, 1 where it is not said; RFC 9628) or in profile (RTP Payload Format For AV1), of which
// the last two are 0 where they are not said.
func (f *offered) suits(track rtpmedia.Format) bool {
	if track.Config == nil {
		return false
	}
	said, record := rtpmedia.Params(f.params), track.Config.Record
	switch {
	case track.Codec == flv.CodecAVC && len(record) > 1:
		return strings.HasPrefix(strings.ToLower(said["profile-level-id"]), fmt.Sprintf("%02x", record[1]))
	case track.Codec == flv.CodecHEVC && len(record) > 1:
		return cmp.Or(said["profile-id"], "1") == fmt.Sprint(record[1]&0x1f)
	case track.Codec == flv.CodecVP9 && len(record) > 4:
		return cmp.Or(said["profile-id"], "0") == fmt.Sprint(record[4])
	case track.Codec == flv.CodecAV1 && len(record) > 1:
		return cmp.Or(said["profile"], "0") == fmt.Sprint(record[1]>>5)
	}
	return false
}

// idle returns a format for each kind of medium that a client receives and none of chosen is
// of: the answer then has the medium inactive, and not rejected. Where the first medium is
// rejected, clients lose the connection that all share: browsers with the bundle policy
// max-bundle, GStreamer and aiortc play nothing.
func (o *offer) idle(chosen []offered) (list []offered) {
	for _, m := range o.media {
		same := func(f offered) bool { return f.Video == m.video }
		if m.receives && len(m.formats) > 0 && !slices.ContainsFunc(chosen, same) && !slices.ContainsFunc(list, same) {
			list = append(list, m.formats[0])
		}
	}
	return list
}

// fromClient returns the format in which a client shall send pictures or sound: H.264
// where it can, since every player has it, else what the client prefers.
func (o *offer) fromClient(video bool) (offered, bool) {
	for _, m := range o.media {
		if !m.sends || m.video != video || len(m.formats) == 0 {
			continue
		}
		if i := slices.IndexFunc(m.formats, func(f offered) bool { return f.Codec == flv.CodecAVC }); i >= 0 {
			return m.formats[i], true
		}
		return m.formats[0], true
	}
	return offered{}, false
}

// sends reports whether a client means to send pictures, or sound: it has no publisher
// then who is without (RFC 9725, section 4.4.3).
func (o *offer) sends(video bool) bool {
	return slices.ContainsFunc(o.media, func(m medium) bool { return m.sends && m.video == video })
}

// names lists what an offer sends, or takes, for a sentence.
func (o *offer) names(sends bool) string {
	const most = 12
	var list []string
	add := func(name string) {
		if !slices.Contains(list, name) && len(list) < most {
			list = append(list, fmt.Sprintf("%.20s", name))
		}
	}
	for _, m := range o.media {
		if sends && !m.sends || !sends && !m.receives {
			continue
		}
		for _, f := range m.formats {
			add(strings.TrimPrefix(strings.TrimPrefix(mimeTypes[f.Codec], "video/"), "audio/"))
		}
		for _, name := range m.other {
			add(name)
		}
	}
	return cmp.Or(strings.Join(list, ", "), "nothing")
}
