package rtpmedia

import (
	"bytes"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// What cameras send that is not as the formats of RTP want it.

// isPicture reports whether a unit of H.264 or HEVC is a part of a picture (H.264, table
// 7-1; H.265, table 7-1). One that begins with zeros has no header.
func isPicture(codec flv.FourCC, nal []byte) bool {
	t := au.NALType(codec, nal)
	if codec == flv.CodecHEVC {
		return t < 32 && !bytes.HasPrefix(nal, []byte{0, 0})
	}
	return t >= 1 && t <= 5
}

// aside reports whether there are parameter sets and the like and no picture yet, which
// some cameras send as if they were one. It is false for more than come before a picture.
func (u *unit) aside(codec flv.FourCC) bool {
	const most = 64
	if codec != flv.CodecAVC && codec != flv.CodecHEVC || u.open || len(u.starts) == 0 || len(u.bufs) >= most {
		return false
	}
	for _, at := range u.starts {
		if isPicture(codec, u.pieces[at]) {
			return false
		}
	}
	return true
}

// cut takes the unit that ended last apart, if it is several with start codes before them,
// as in annex B of H.264. Media is not searched unless the stream is known for this: what
// comes before a picture is, and that begins each key frame. It reports false for what
// cannot be cut.
func (u *unit) cut(codec flv.FourCC) bool {
	from := u.starts[len(u.starts)-1]
	pieces := u.pieces[from:]
	if !u.coded && isPicture(codec, pieces[0]) {
		return true
	}
	whole := pieces[0]
	if len(pieces) > 1 {
		whole = bytes.Join(pieces, nil) // a start code may lie in two
	}
	at := bytes.Index(whole, []byte{0, 0, 1})
	if at < 0 {
		return true
	}
	u.coded = true
	parts, err := au.SplitAnnexB(nil, whole[at:])
	if err != nil {
		return false
	}
	u.starts, u.pieces = u.starts[:len(u.starts)-1], u.pieces[:from]
	if first := bytes.TrimRight(whole[:at], "\x00"); len(first) > 0 {
		u.begin(first)
	}
	for _, p := range parts {
		u.begin(p)
	}
	return true
}

// withoutADTS returns the frame of AAC in p, borrowed, without the header that is for
// transport streams (ISO/IEC 14496-3, annex 1.A.2), and whether there was one.
func withoutADTS(p []byte) ([]byte, bool) {
	const header, checksum = 7, 2
	if len(p) <= header+checksum || p[0] != 0xff || p[1]&0xf6 != 0xf0 || p[6]&3 != 0 {
		return p, false
	}
	if int(p[3]&3)<<11|int(p[4])<<3|int(p[5])>>5 != len(p) {
		return p, false
	}
	if p[1]&1 == 0 {
		return p[header+checksum:], true
	}
	return p[header:], true
}
