package rtpmedia

import (
	"fmt"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// decodeTimes finds out when pictures are decoded. RTP says when they are shown only,
// and the order of the pictures says the rest: the library reads it in them, but not of
// interlaced H.264 and of HEVC with temporal sublayers, nor before an IDR picture, which streams
// that refresh pictures bit by bit may never have. Then the times do.
type decodeTimes struct {
	codec  flv.FourCC
	layout layout
	times  reorder
	order  interface {
		Extract(units [][]byte, shown int64) (int64, error)
	}
	latest int64
	begun  bool
	units  [][]byte
}

// at returns when a picture that is shown at a time is decoded: at the same time or
// earlier, and not before the one that came before it. All are ticks. units are borrowed
// until it returns.
func (d *decodeTimes) at(c *au.Config, key bool, units [][]byte, shown int64) int64 {
	at := shown
	switch d.codec {
	case flv.CodecAVC, flv.CodecHEVC:
		at = d.extract(c, key, units, shown)
	}
	if d.begun && at < d.latest && shown >= d.latest {
		at = d.latest
	}
	d.latest, d.begun = at, true
	return at
}

func (d *decodeTimes) extract(c *au.Config, key bool, units [][]byte, shown int64) int64 {
	if d.order == nil {
		d.begin()
	}
	if c != d.layout.config {
		d.times.depth = max(d.times.depth, d.layout.of(c))
	}
	byTimes := d.times.at(shown)
	// The library keeps the parameter sets that it is given, so these must not be
	// views of the packets.
	d.units = d.units[:0]
	if key {
		d.units = append(d.units, c.Sets...)
	}
	for _, u := range units {
		if !au.IsSet(d.codec, u) {
			d.units = append(d.units, u)
		}
	}
	at, err := d.ask(shown)
	if err != nil {
		if key {
			d.begin()
		}
		return byTimes
	}
	if d.layout.byTimes {
		return byTimes
	}
	return at
}

// ask has the library look at the units. Of some malformed sets and slices it reads beyond
// the end: that is an error, and it begins again.
func (d *decodeTimes) ask(shown int64) (at int64, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			d.begin()
			err = fmt.Errorf("%w: %v", ErrSyntax, fault)
		}
	}()
	return d.order.Extract(d.units, shown)
}

// reset forgets the pictures so far: the next one has another clock.
func (d *decodeTimes) reset() { d.order, d.begun, d.times.shown = nil, false, nil }

func (d *decodeTimes) begin() {
	if d.codec == flv.CodecHEVC {
		x := &h265.DTSExtractor{}
		x.Initialize()
		d.order = x
		return
	}
	x := &h264.DTSExtractor{}
	x.Initialize()
	d.order = x
}
