package au

import (
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/sluice-go/sluice/flv"
)

// A Tag is one of those that a live.Reader returns. Body is borrowed as long as what
// the reader returned.
type Tag struct {
	Type flv.TagType
	Time uint32 // ms
	Body []byte
}

// Tags yields the tags in p, which a live.Reader returned: whole ones, else it panics. The
// header of a file, with the size of no tag behind it, may come before the first.
func Tags(p []byte) iter.Seq[Tag] {
	return func(yield func(Tag) bool) {
		if len(p) >= 4 && string(p[:3]) == "FLV" {
			p = p[flv.HeaderLen+flv.PrevTagSizeLen:]
		}
		for len(p) > 0 {
			n := 0
			if len(p) >= flv.TagHeaderLen {
				n = int(binary.BigEndian.Uint32(p) & 0xffffff)
			}
			if whole := flv.TagHeaderLen + n + flv.PrevTagSizeLen; len(p) < whole {
				panic(fmt.Sprintf("au: %d bytes of a tag of %d", len(p), whole))
			}
			at := binary.BigEndian.Uint32(p[4:])
			if !yield(Tag{flv.TagType(p[0]), at>>8 | at<<24, p[flv.TagHeaderLen : flv.TagHeaderLen+n]}) {
				return
			}
			p = p[flv.TagHeaderLen+n+flv.PrevTagSizeLen:]
		}
	}
}
