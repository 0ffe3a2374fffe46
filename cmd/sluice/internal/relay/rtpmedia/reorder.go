package rtpmedia

import (
	"slices"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"

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
	config *au.Config
	// byTimes: the library does not read the order in the pictures, which are interlaced, or have temporal sublayers.
	byTimes bool
}

// of looks at a configuration, and says by how much the stream reorders if it does. Of some malformed sets the library
// reads beyond the end: they say nothing.
func (l *layout) of(c *au.Config) (reorders int) {
	l.config, l.byTimes = c, false
	defer func() { _ = recover() }()
	for _, set := range c.Sets {
		switch {
		case c.Codec == flv.CodecHEVC && au.NALType(c.Codec, set) == int(h265.NALUType_SPS_NUT):
			var sps h265.SPS
			if sps.Unmarshal(set) != nil {
				return 0
			}
			l.byTimes = sps.MaxSubLayersMinus1 > 0
			return int(min(sps.MaxNumReorderPics[sps.MaxSubLayersMinus1], maxReorder))
		case c.Codec == flv.CodecAVC && au.NALType(c.Codec, set) == int(h264.NALUTypeSPS):
			var sps h264.SPS
			if sps.Unmarshal(set) != nil {
				return 0
			}
			l.byTimes = !sps.FrameMbsOnlyFlag
			if sps.VUI == nil || sps.VUI.BitstreamRestriction == nil {
				return 0
			}
			return int(min(sps.VUI.BitstreamRestriction.MaxNumReorderFrames, maxReorder))
		}
	}
	return 0
}
