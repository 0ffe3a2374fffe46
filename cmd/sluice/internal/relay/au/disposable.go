package au

import "github.com/sluice-go/sluice/flv"

// Disposable reports whether no other picture refers to one of H.264 or HEVC, so that
// it can be left out and all others are decoded as before. parts are borrowed until it
// returns. Of other codecs it is false: a frame of theirs does not say.
func Disposable(codec flv.FourCC, parts [][]byte) bool {
	const (
		lastAVCSlice  = 5
		lastHEVCSlice = 31
		lastSubLayer  = 14 // even types up to it are not referred to (H.265, table 7-1)
	)
	found := false
	for _, p := range parts {
		t := NALType(codec, p)
		switch codec {
		case flv.CodecAVC:
			if t < 1 || t > lastAVCSlice {
				continue
			}
			if p[0]>>5&3 != 0 { // nal_ref_idc (H.264, section 7.4.1)
				return false
			}
		case flv.CodecHEVC:
			if t < 0 || t > lastHEVCSlice {
				continue
			}
			if t > lastSubLayer || t%2 != 0 {
				return false
			}
		default:
			return false
		}
		found = true
	}
	return found
}
