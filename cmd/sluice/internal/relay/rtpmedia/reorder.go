package rtpmedia

import (
	"slices"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// A reorder finds out when pictures are decoded from nothing but when they are shown, in the order in
// which they come: each when that one is shown which is as many before it as the stream reorders.
// The zero value is ready for use.
type reorder struct {
	depth int     // the most pictures that came before one that is shown before them
	shown []int64 // the latest times, sorted
}

// maxReorder is how many that are at most (H.264, section A.3.1 h: MaxDpbFrames).
const maxReorder = 16

// at returns when a picture that is shown at a time is decoded. Both are ticks.
func (r *reorder) at(shown int64) int64 {
	i, _ := slices.BinarySearch(r.shown, shown+1)
	before := len(r.shown) - i
	if before > maxReorder { // another clock
		r.shown, i, before = r.shown[:0], 0, 0
	}
	r.depth = max(r.depth, before)
	r.shown = slices.Insert(r.shown, i, shown)
	if len(r.shown) > maxReorder+1 {
		r.shown = slices.Delete(r.shown, 0, 1)
	}
	return r.shown[max(len(r.shown)-1-r.depth, 0)]
}

// A layout is what decodeTimes has to know of a configuration.
type layout struct {
	config     *au.Config
	interlaced bool
}

// of looks at a configuration of H.264, and says by how much the stream reorders if it does.
func (l *layout) of(c *au.Config) (reorders int) {
	l.config, l.interlaced = c, false
	var sps h264.SPS
	if c.Codec != flv.CodecAVC || len(c.Sets) == 0 || sps.Unmarshal(c.Sets[0]) != nil {
		return 0
	}
	l.interlaced = !sps.FrameMbsOnlyFlag
	if sps.VUI == nil || sps.VUI.BitstreamRestriction == nil {
		return 0
	}
	return int(min(sps.VUI.BitstreamRestriction.MaxNumReorderFrames, maxReorder))
}
