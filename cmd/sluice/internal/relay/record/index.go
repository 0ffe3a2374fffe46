package record

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/flv"
)

const (
	// indexRoom is how many bytes of a file's metadata are reserved for the
	// index, which is written when the file ends.
	indexRoom = 16 << 10
	// maxKeys is how many key frames the index can hold. When it is full, every
	// second one is removed. A key frame takes two numbers of 9 bytes.
	maxKeys = 850
)

// index is the list of key frames in the metadata of a finished file: the
// property keyframes, as FLV players know it, with a list of times in seconds and
// one of positions in the file. Until then a string of spaces reserves the room,
// so that the file is readable at any time.
type index struct {
	properties []amf0.Property // of the stream's metadata
	at         int64           // where the metadata stands in the file
	size       int             // bytes
	keys       []keyFrame
	step, skip int // one of step key frames is kept; the next skip ones are not
}

type keyFrame struct {
	time  uint32 // ms
	place int64  // of its tag
}

// newIndex makes the index of a file in which metadata, borrowed and maybe nil,
// stands at the given place. It returns nil for invalid metadata.
func newIndex(metadata []byte, at int64) *index {
	x := &index{at: at, step: 1}
	if metadata != nil {
		_, values, err := flv.ParseScript(metadata)
		if err != nil {
			return nil
		}
		for _, v := range values {
			if properties := amf0.Properties(v); properties != nil {
				x.properties = properties
			}
		}
	}
	ours := []string{"duration", "filesize", "lasttimestamp", "keyframes", "spacer"}
	x.properties = slices.DeleteFunc(slices.Clone(x.properties), func(p amf0.Property) bool { return slices.Contains(ours, p.Name) })
	bare, err := flv.AppendScript(nil, "onMetaData", amf0.ECMAArray(x.properties))
	if err != nil {
		return nil
	}
	x.size = len(bare) + indexRoom
	return x
}

// begin returns the metadata for the time while the file is written.
func (x *index) begin() []byte { return x.fill(nil) }

// add adds a key frame.
func (x *index) add(k keyFrame) {
	if x.skip > 0 {
		x.skip--
		return
	}
	x.skip = x.step - 1
	if x.keys = append(x.keys, k); len(x.keys) < maxKeys {
		return
	}
	n := 0
	for i := 0; i < len(x.keys); i += 2 {
		x.keys[n] = x.keys[i]
		n++
	}
	x.keys = x.keys[:n]
	x.step *= 2 // maxKeys is even: the next in the old steps is one in the new
}

// end returns the metadata of a file of that many bytes and milliseconds, as long
// as begin's.
func (x *index) end(size int64, last uint32) []byte {
	var times, places amf0.StrictArray
	for _, k := range x.keys {
		if k.place < size {
			times = append(times, float64(k.time)/1000)
			places = append(places, float64(k.place))
		}
	}
	all := []amf0.Property{
		{Name: "duration", Value: float64(last) / 1000},
		{Name: "lasttimestamp", Value: float64(last) / 1000},
		{Name: "filesize", Value: float64(size)},
	}
	if len(times) > 1 { // ffmpeg warns of an index of fewer
		all = append(all, amf0.Property{Name: "keyframes", Value: amf0.Object{{Name: "times", Value: times}, {Name: "filepositions", Value: places}}})
	}
	return x.fill(all)
}

// spacerMost is how many bytes a string that reserves room has at most: ffmpeg reads no
// metadata behind one of 1,024 and more, and says that there is an error.
const spacerMost = 1000

// fill returns metadata of the index's size with the properties and more, nil
// when they do not fit.
func (x *index) fill(more []amf0.Property) []byte {
	all := append(slices.Clone(x.properties), more...)
	with := func(spaces ...int) []byte {
		list := slices.Clone(all)
		for _, n := range spaces {
			list = append(list, amf0.Property{Name: "spacer", Value: strings.Repeat(" ", n)})
		}
		p, err := flv.AppendScript(nil, "onMetaData", amf0.ECMAArray(list))
		if err != nil {
			return nil
		}
		return p
	}
	bare := len(with())
	around := len(with(0)) - bare // bytes of a property beside its spaces
	lacks := x.size - bare
	if lacks < around {
		return nil
	}
	// Shares that differ by a byte at most: each has room for what is around its spaces.
	shares := make([]int, (lacks+around+spacerMost-1)/(around+spacerMost))
	for i := range shares {
		shares[i] = (lacks+i)/len(shares) - around
	}
	return with(shares...)
}
