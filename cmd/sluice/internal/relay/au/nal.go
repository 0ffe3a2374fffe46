package au

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/sluice-go/sluice/flv"
)

// Types of NAL units: H.264, table 7-1; H.265, table 7-1.
const (
	avcIDR     = 5
	avcSPS     = 7
	avcPPS     = 8
	avcAUD     = 9
	hevcBLA    = 16 // the first of the pictures that decoding can begin at
	hevcLastRA = 21
	hevcVPS    = 32
	hevcSPS    = 33
	hevcPPS    = 34
	hevcAUD    = 35
)

// NALType returns the type of a unit of H.264 or HEVC.
func NALType(codec flv.FourCC, nal []byte) int {
	switch {
	case len(nal) == 0:
		return -1
	case codec == flv.CodecHEVC:
		return int(nal[0] >> 1 & 0x3f)
	}
	return int(nal[0] & 0x1f)
}

// IsSet reports whether a unit of H.264 or HEVC is a parameter set.
func IsSet(codec flv.FourCC, nal []byte) bool {
	t := NALType(codec, nal)
	if codec == flv.CodecHEVC {
		return t >= hevcVPS && t <= hevcPPS
	}
	return t == avcSPS || t == avcPPS
}

// IsDelimiter reports whether a unit of H.264 or HEVC is an access unit delimiter, which no other of a
// picture is before.
func IsDelimiter(codec flv.FourCC, nal []byte) bool {
	t := NALType(codec, nal)
	if codec == flv.CodecHEVC {
		return t == hevcAUD
	}
	return t == avcAUD
}

// isStart reports whether a decoder can begin at the picture that the unit is of.
func isStart(codec flv.FourCC, nal []byte) bool {
	t := NALType(codec, nal)
	if codec == flv.CodecHEVC {
		return t >= hevcBLA && t <= hevcLastRA
	}
	return t == avcIDR
}

// appendLengths appends the views of the units in p, each behind its length of size
// bytes, to dst. Empty units are left out. More than a picture has are ErrSyntax: their views would take a
// dozen times the memory that they do.
func appendLengths(dst [][]byte, p []byte, size int) ([][]byte, error) {
	for len(p) > 0 {
		if len(p) < size {
			return dst, fmt.Errorf("%w: %d bytes where a length of %d begins", ErrSyntax, len(p), size)
		}
		n := uint64(0)
		for _, b := range p[:size] {
			n = n<<8 | uint64(b)
		}
		p = p[size:]
		if n > uint64(len(p)) {
			return dst, fmt.Errorf("%w: a unit of %d bytes, %d are left", ErrSyntax, n, len(p))
		}
		if n > 0 && len(dst) == MaxUnits {
			return dst, errTooMany()
		}
		if n > 0 {
			dst = append(dst, p[:n])
		}
		p = p[n:]
	}
	return dst, nil
}

func errTooMany() error {
	return fmt.Errorf("%w: more than %d units in a picture", ErrSyntax, MaxUnits)
}

// SplitLengths appends the views of the units in p, each behind a length of 4 bytes, to
// dst. An error matches ErrSyntax.
func SplitLengths(dst [][]byte, p []byte) ([][]byte, error) { return appendLengths(dst, p, 4) }

// AppendLengths appends units to dst, each behind its length of 4 bytes.
func AppendLengths(dst []byte, units [][]byte) []byte {
	for _, u := range units {
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(u))), u...)
	}
	return dst
}

// SplitAnnexB appends the views of the units in p, which have start codes before them,
// to dst. It is the one place where media is searched, because the format leaves no
// other way. Bytes before the first start code are ErrSyntax, and so are more units than
// a picture has.
func SplitAnnexB(dst [][]byte, p []byte) ([][]byte, error) {
	code := []byte{0, 0, 1}
	at := bytes.Index(p, code)
	if at < 0 || len(bytes.Trim(p[:at], "\x00")) > 0 {
		return dst, fmt.Errorf("%w: no start code at the beginning of %d bytes", ErrSyntax, len(p))
	}
	for at >= 0 {
		p = p[at+len(code):]
		unit := p
		if at = bytes.Index(p, code); at >= 0 {
			unit = p[:at]
		}
		// A unit does not end with zeros: these belong to the start code.
		if unit = bytes.TrimRight(unit, "\x00"); len(unit) == 0 {
			continue
		}
		if len(dst) == MaxUnits {
			return dst, errTooMany()
		}
		dst = append(dst, unit)
	}
	return dst, nil
}
