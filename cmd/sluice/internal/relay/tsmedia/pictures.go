package tsmedia

import (
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// pictures are a track of H.264 or HEVC.
type pictures struct {
	*intake
	inBand  au.InBand
	units   [][]byte // of the latest packet
	playing bool     // there was a key frame

	begun    bool  // there was a packet
	dts, pts int64 // of the latest one
	number   int   // of its pictures
	step     int64 // from one to the next, ticks; 0: not known
}

// usualStep is the time of a picture of which nothing else is known, in ticks.
const usualStep = 3600

// take takes a packet: a picture, or several.
func (x *pictures) take(pts, dts int64, p []byte) error {
	var err error
	if x.units, err = au.SplitAnnexB(x.units[:0], p); err != nil || len(x.units) == 0 {
		return nil
	}
	if step := difference(dts, x.dts); x.begun && x.number > 0 && step > 0 && step < jump {
		x.step = step / int64(x.number)
	}
	x.begun, x.dts, x.pts, x.number = true, dts, pts, 0
	for units := x.units; len(units) > 0; x.number++ {
		one := units
		if n := x.end(units); n < len(units) && x.separate(units) {
			one = units[:n]
		}
		units = units[len(one):]
		later := int64(x.number) * x.usual()
		if err := x.picture(pts+later, dts+later, one); err != nil {
			return err
		}
	}
	return nil
}

// picture takes one picture.
func (x *pictures) picture(pts, dts int64, units [][]byte) error {
	if x.delimits(units[0]) {
		units = units[1:]
	}
	_, key := x.inBand.Learn(units)
	config := x.inBand.Config()
	decoded := x.clock.at(0, dts)
	shown := max(decoded+difference(pts, dts), 0)
	if key && config == nil {
		if what, say := x.inBand.Bare(); say && x.LeftOut != nil {
			x.LeftOut(what)
		}
	}
	if len(units) == 0 || config == nil || !x.playing && !key {
		return nil
	}
	x.playing = true
	if x.info.config == nil {
		x.info.config = config
	}
	u := au.Unit{Video: true, Codec: x.inBand.Codec, Time: ms(decoded), Key: key, Config: config, Parts: units}
	u.Offset = int32(ms(shown) - u.Time)
	n := 0
	for _, p := range units {
		n += 4 + len(p)
	}
	return x.publish(&u, n, func(dst []byte) { au.AppendLengths(dst, units) })
}

// next returns the time of a packet that says none. One that goes on with the picture before,
// which is published, has no time.
func (x *pictures) next(p []byte) (pts, dts int64, ok bool) {
	var err error
	x.units, err = au.SplitAnnexB(x.units[:0], p)
	if err != nil || !x.begun {
		return 0, 0, false
	}
	for _, u := range x.units {
		if x.coded(u) {
			later := int64(max(x.number, 1)) * x.usual()
			return x.pts + later, x.dts + later, x.first(u)
		}
	}
	return 0, 0, false
}

func (x *pictures) usual() int64 {
	if x.step > 0 {
		return x.step
	}
	return usualStep
}

// end returns how many units the first picture has: before the next one stands a delimiter
// (ISO/IEC 13818-1, section 2.14.1).
func (x *pictures) end(units [][]byte) int {
	coded := false
	for i, u := range units {
		if coded && x.delimits(u) {
			return i
		}
		coded = coded || x.coded(u)
	}
	return len(units)
}

// separate reports whether a delimiter in units is before another picture, and not before the
// other field of the same: H.264 has both in one packet.
func (x *pictures) separate(units [][]byte) bool {
	if x.inBand.Codec != flv.CodecAVC {
		return true
	}
	if x.inBand.Config() == nil {
		x.inBand.Learn(units)
	}
	config := x.inBand.Config()
	if config == nil {
		return false
	}
	var sps h264.SPS
	return len(config.Sets) > 0 && sps.Unmarshal(config.Sets[0]) == nil && sps.FrameMbsOnlyFlag
}

// coded reports whether a unit is a part of a picture.
func (x *pictures) coded(unit []byte) bool {
	t := au.NALType(x.inBand.Codec, unit)
	if x.inBand.Codec == flv.CodecHEVC {
		return t < 32
	}
	return t >= 1 && t <= 5
}

// first reports whether a part of a picture is the first one: of H.264 that has number 0 in
// Exp-Golomb code (section 7.3.3), of HEVC a flag (section 7.3.6.1).
func (x *pictures) first(unit []byte) bool {
	at := 1
	if x.inBand.Codec == flv.CodecHEVC {
		at = 2
	}
	return len(unit) > at && unit[at]&0x80 != 0
}

func (x *pictures) delimits(unit []byte) bool { return au.IsDelimiter(x.inBand.Codec, unit) }
