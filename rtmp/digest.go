package rtmp

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
)

// The digest handshake is not in the specification. Flash Player 9.0.115 and
// its servers brought it, and peers that know it hold H.264 back from those
// that do not. Each side puts an HMAC-SHA256 of its first packet into that
// packet, at a place that four of the packet's bytes choose; there are two
// places to look for those four bytes, the schemes. The keys are public.
const (
	handshakeLen = 1536
	digestLen    = 32

	playerText = "Genuine Adobe Flash Player 001"
	serverText = "Genuine Adobe Flash Media Server 001"
	keySuffix  = "\xF0\xEE\xC2\x4A\x80\x68\xBE\xE8\x2E\x00\xD0\xD1\x02\x9E\x7E\x57" +
		"\x6E\xEC\x5D\x2D\x29\x80\x6F\xAB\x93\xB8\xE6\x36\xCF\xEB\x31\xAE"
)

// side is who made a packet. The short key is for the first packet, the long
// one for the second.
type side struct{ short, long []byte }

var (
	playerSide = side{short: []byte(playerText), long: []byte(playerText + keySuffix)}
	serverSide = side{short: []byte(serverText), long: []byte(serverText + keySuffix)}
)

// schemes are the offsets of the four bytes whose sum is the digest's offset
// behind them, modulo schemeSpan.
var schemes = [2]int{8, 772}

const schemeSpan = 728

// digestAt returns where the digest of p, 1,536 bytes, is by a scheme.
func digestAt(p []byte, scheme int) int {
	i := schemes[scheme]
	sum := int(p[i]) + int(p[i+1]) + int(p[i+2]) + int(p[i+3])
	return i + 4 + sum%schemeSpan
}

// digestOf appends the digest of all of p but the 32 bytes at i.
func digestOf(dst, p []byte, i int, key []byte) []byte {
	return hashed(dst, hmac.New(sha256.New, key), p[:i], p[i+digestLen:])
}

func hashed(dst []byte, h hash.Hash, parts ...[]byte) []byte {
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(dst)
}

// sign puts p's own digest into it.
func sign(p []byte, scheme int, s side) {
	i := digestAt(p, scheme)
	var room [digestLen]byte
	copy(p[i:], digestOf(room[:0], p, i, s.short))
}

// signed finds the digest of p, 1,536 bytes of the other side, and reports by
// which scheme. It is a view of p.
func signed(p []byte, s side) (digest []byte, scheme int, ok bool) {
	for scheme := range schemes {
		i := digestAt(p, scheme)
		var room [digestLen]byte
		if hmac.Equal(digestOf(room[:0], p, i, s.short), p[i:i+digestLen]) {
			return p[i : i+digestLen], scheme, true
		}
	}
	return nil, 0, false
}

// answer puts the proof that digest was seen at the end of p, the second packet
// of side s.
func answer(p, digest []byte, s side) {
	var room [digestLen]byte
	key := hashed(room[:0], hmac.New(sha256.New, s.long), digest)
	end := len(p) - digestLen
	var proof [digestLen]byte
	copy(p[end:], hashed(proof[:0], hmac.New(sha256.New, key), p[:end]))
}
