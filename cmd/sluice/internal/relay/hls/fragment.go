package hls

import "encoding/binary"

// A sample is one access unit in a fragment. Times are ticks of its track.
type sample struct {
	at       int64 // when it is decoded
	duration uint32
	offset   int32 // from then to when it is shown
	size     int
	key      bool
}

// A run is the samples of one track in a fragment, whose bytes are one behind the other.
type run struct {
	track   int // its number, from 1
	samples []sample
	data    []byte
}

// Sizes of boxes in bytes (ISO/IEC 14496-12, sections 8.8.4 to 8.8.12 and 8.1.1).
const (
	boxHead     = 8
	mfhdSize    = boxHead + 4 + 4
	tfhdSize    = boxHead + 4 + 4
	tfdtSize    = boxHead + 4 + 8
	trunSize    = boxHead + 4 + 4 + 4 // and the samples
	perSample   = 4 * 4
	syncSample  = 0x02000000 // depends on no other
	otherSample = 0x01010000 // depends on others, no sync sample
)

// headSize returns the bytes of a fragment before its media, with the head of mdat.
func headSize(runs []run) int {
	n := boxHead + mfhdSize + boxHead
	for _, r := range runs {
		n += boxHead + tfhdSize + tfdtSize + trunSize + perSample*len(r.samples)
	}
	return n
}

// fragmentSize returns the length of what appendFragment appends.
func fragmentSize(runs []run) int {
	n := headSize(runs)
	for _, r := range runs {
		n += len(r.data)
	}
	return n
}

// appendFragment appends a movie fragment, moof and mdat, of runs, which are borrowed.
func appendFragment(dst []byte, number uint32, runs []run) []byte {
	u32 := binary.BigEndian.AppendUint32
	box := func(size int, kind string) { dst = append(u32(dst, uint32(size)), kind...) }
	head := headSize(runs)
	box(head-boxHead, "moof")
	box(mfhdSize, "mfhd")
	dst = u32(u32(dst, 0), number)
	at := head // of the run's media, from the fragment's beginning
	for _, r := range runs {
		trun := trunSize + perSample*len(r.samples)
		box(boxHead+tfhdSize+tfdtSize+trun, "traf")
		box(tfhdSize, "tfhd")
		dst = u32(u32(dst, 0x020000), uint32(r.track)) // default-base-is-moof
		box(tfdtSize, "tfdt")
		dst = binary.BigEndian.AppendUint64(u32(dst, 1<<24), uint64(r.samples[0].at))
		box(trun, "trun")
		dst = u32(u32(u32(dst, 1<<24|0xf01), uint32(len(r.samples))), uint32(at))
		for _, s := range r.samples {
			flags := uint32(otherSample)
			if s.key {
				flags = syncSample
			}
			dst = u32(u32(u32(u32(dst, s.duration), uint32(s.size)), flags), uint32(s.offset))
		}
		at += len(r.data)
	}
	box(at-head+boxHead, "mdat")
	for _, r := range runs {
		dst = append(dst, r.data...)
	}
	return dst
}
