package au

import "github.com/sluice-go/sluice/flv"

// Types of units with supplemental enhancement information (H.264, table 7-1; H.265, table
// 7-1), and of its message that a decoder can begin at the picture (annex D of both).
const (
	avcSEI        = 6
	hevcSEI       = 39
	recoveryPoint = 6
)

// hasRecoveryPoint reports whether a unit of H.264 or HEVC says that a decoder can begin at
// its picture, as encoders with open groups of pictures do, and those that refresh the
// picture bit by bit: they have an IDR picture at the beginning only.
func hasRecoveryPoint(codec flv.FourCC, nal []byte) bool {
	header, want := 1, avcSEI
	if codec == flv.CodecHEVC {
		header, want = 2, hevcSEI
	}
	if NALType(codec, nal) != want || len(nal) <= header {
		return false
	}
	m := messages{p: nal[header:]}
	for len(m.p) > 1 { // behind the last message is a byte
		kind, size := m.number(), m.number()
		if kind == recoveryPoint && len(m.p) > 0 {
			return true
		}
		for ; size > 0 && len(m.p) > 0; size-- {
			m.next()
		}
	}
	return false
}

// messages reads supplemental information, without the bytes that prevent start codes.
type messages struct {
	p     []byte
	zeros int // before p
}

// next returns the next byte, 0 at the end.
func (m *messages) next() byte {
	if m.zeros >= 2 && len(m.p) > 0 && m.p[0] == 3 {
		m.p, m.zeros = m.p[1:], 0
	}
	if len(m.p) == 0 {
		return 0
	}
	b := m.p[0]
	m.p = m.p[1:]
	if m.zeros++; b != 0 {
		m.zeros = 0
	}
	return b
}

// number returns a type or size: 255 for each byte of that, and the next one (H.264,
// section 7.3.2.3.1).
func (m *messages) number() (n int) {
	for len(m.p) > 0 {
		b := m.next()
		n += int(b)
		if b != 255 {
			break
		}
	}
	return n
}
