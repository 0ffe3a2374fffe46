package rtpmedia

import (
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// nals packs the NAL units of a picture. Before a key frame come the parameter sets,
// unless it has them: then who joins there needs nothing else.
func (w *writer) nals(u *au.Unit) {
	has := slices.ContainsFunc(u.Parts, func(p []byte) bool { return au.IsSet(u.Codec, p) })
	if u.Key && !has && u.Config != nil {
		for _, s := range u.Config.Sets {
			w.nal(u.Codec, s, false)
		}
	}
	for i, p := range u.Parts {
		w.nal(u.Codec, p, i == len(u.Parts)-1)
	}
}

// nal packs one unit: as it is, or in fragments (RFC 6184, section 5.8, FU-A; RFC 7798,
// section 4.4.3).
func (w *writer) nal(codec flv.FourCC, p []byte, last bool) {
	if len(p) <= w.room {
		w.whole(last, p)
		return
	}
	const start, end = 0x80, 0x40
	head := []byte{p[0]&0xe0 | 28, p[0] & 0x1f}
	rest := p[1:]
	if codec == flv.CodecHEVC {
		head = []byte{p[0]&0x81 | 49<<1, p[1], p[0] >> 1 & 0x3f}
		rest = p[2:]
	}
	flags := &head[len(head)-1]
	*flags |= start
	for len(rest) > 0 {
		n := min(len(rest), w.room-len(head))
		if n == len(rest) {
			*flags |= end
		}
		w.whole(last && n == len(rest), head, rest[:n])
		*flags &^= start
		rest = rest[n:]
	}
}

// vp9 packs a frame (RFC 9628, section 4.2).
func (w *writer) vp9(u *au.Unit, picture uint16) {
	const hasID, predicted, start, end = 0x80, 0x40, 0x08, 0x04
	head := []byte{hasID | start, 0x80 | byte(picture>>8&0x7f), byte(picture)}
	if !u.Key {
		head[0] |= predicted
	}
	p := u.Parts[0]
	for len(p) > 0 {
		n := min(len(p), w.room-len(head))
		if n == len(p) {
			head[0] |= end
		}
		w.whole(n == len(p), head, p[:n])
		head[0] &^= start
		p = p[n:]
	}
}
