package rtmp

import (
	"maps"
	"slices"

	"github.com/sluice-go/sluice/amf0"
)

// Bits of Capabilities.Video and Capabilities.Audio: what can be done with a
// codec (enhanced RTMP v2, "Enhancing NetConnection connect Command").
const (
	CanDecode  = 0x01
	CanEncode  = 0x02
	CanForward = 0x04
)

// Bits of Capabilities.CapsEx.
const (
	CapsReconnect           = 0x01
	CapsMultitrack          = 0x02
	CapsModEx               = 0x04
	CapsTimestampNanoOffset = 0x08
)

// Capabilities are what a side of a connection announces about enhanced RTMP when it
// connects. A FourCC "*" stands for every codec.
type Capabilities struct {
	FourCCs []string          // fourCcList, the older form
	Video   map[string]uint32 // videoFourCcInfoMap: bits of CanDecode and so on
	Audio   map[string]uint32 // audioFourCcInfoMap
	CapsEx  uint32            // capsEx: bits of CapsReconnect and so on
}

// mostFourCCs is how many codecs of each list or map are looked at, and
// longestFourCC how long a name of one may be, in bytes.
const (
	mostFourCCs   = 64
	longestFourCC = 8
)

// IsZero reports whether nothing was said.
func (c Capabilities) IsZero() bool {
	return len(c.FourCCs) == 0 && len(c.Video) == 0 && len(c.Audio) == 0 && c.CapsEx == 0
}

// parseCapabilities reads what o, the object of a connect command or of its
// result, says. Invalid values are ignored.
func parseCapabilities(o amf0.Object) Capabilities {
	c := Capabilities{CapsEx: toUint32(o.Number("capsEx"))}
	list, _ := o.Get("fourCcList")
	values, _ := list.(amf0.StrictArray)
	for _, v := range values[:min(len(values), mostFourCCs)] {
		if s, ok := v.(string); ok && s != "" && len(s) <= longestFourCC {
			c.FourCCs = append(c.FourCCs, s)
		}
	}
	c.Video = parseCodecs(o, "videoFourCcInfoMap")
	c.Audio = parseCodecs(o, "audioFourCcInfoMap")
	return c
}

func parseCodecs(o amf0.Object, name string) map[string]uint32 {
	v, _ := o.Get(name)
	properties := amf0.Properties(v)
	var codecs map[string]uint32
	for _, p := range properties[:min(len(properties), mostFourCCs)] {
		bits, ok := p.Value.(float64)
		if !ok || p.Name == "" || len(p.Name) > longestFourCC {
			continue
		}
		if codecs == nil {
			codecs = make(map[string]uint32)
		}
		codecs[p.Name] = toUint32(bits)
	}
	return codecs
}

// toUint32 returns f as a set of bits, none when it is no such number.
func toUint32(f float64) uint32 {
	if f >= 0 && f < 1<<32 {
		return uint32(f)
	}
	return 0
}

// appendTo appends what c says to an object.
func (c Capabilities) appendTo(o amf0.Object) amf0.Object {
	if len(c.FourCCs) > 0 {
		list := make(amf0.StrictArray, len(c.FourCCs))
		for i, s := range c.FourCCs {
			list[i] = s
		}
		o = append(o, amf0.Property{Name: "fourCcList", Value: list})
	}
	o = appendCodecs(o, "videoFourCcInfoMap", c.Video)
	o = appendCodecs(o, "audioFourCcInfoMap", c.Audio)
	if c.CapsEx != 0 {
		o = append(o, amf0.Property{Name: "capsEx", Value: float64(c.CapsEx)})
	}
	return o
}

func appendCodecs(o amf0.Object, name string, codecs map[string]uint32) amf0.Object {
	if len(codecs) == 0 {
		return o
	}
	var list amf0.Object
	for _, codec := range slices.Sorted(maps.Keys(codecs)) {
		list = append(list, amf0.Property{Name: codec, Value: float64(codecs[codec])})
	}
	return append(o, amf0.Property{Name: name, Value: list})
}

// reply is what a server of capabilities c says to a client of capabilities
// peer. Nothing is said to a client that says nothing. A server that only
// passes on what comes can do it with all that the client knows, short of
// telling it to reconnect elsewhere.
func (c Capabilities) reply(peer Capabilities) Capabilities {
	switch {
	case peer.IsZero():
		return Capabilities{}
	case !c.IsZero():
		return c
	}
	return Capabilities{
		FourCCs: peer.FourCCs,
		Video:   map[string]uint32{"*": CanForward},
		Audio:   map[string]uint32{"*": CanForward},
		CapsEx:  peer.CapsEx & (CapsMultitrack | CapsModEx | CapsTimestampNanoOffset),
	}
}
