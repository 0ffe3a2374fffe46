package au

import "github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"

// avcTail returns what the record of the high profiles has behind the sets: the form
// of chroma and the depths of bits. It is empty for other profiles, and for a set that
// cannot be read: decoders find the same in the set.
func avcTail(set []byte) []byte {
	switch set[1] {
	case 66, 77, 88:
		return nil
	}
	var sps h264.SPS
	if sps.Unmarshal(set) != nil {
		return nil
	}
	return []byte{0xfc | byte(sps.ChromaFormatIdc&3), 0xf8 | byte(sps.BitDepthLumaMinus8&7), 0xf8 | byte(sps.BitDepthChromaMinus8&7), 0}
}
