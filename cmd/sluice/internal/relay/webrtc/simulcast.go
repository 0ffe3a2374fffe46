package webrtc

import (
	"strconv"
	"strings"

	"github.com/pion/sdp/v3"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
)

// maxLayers of an offer are looked at; browsers send three.
const maxLayers = 16

// A layer is one of the sizes in which a client can send the same pictures (RFC 8853).
type layer struct {
	rid    string
	pixels uint64 // at most, of a picture; 0: not said
	rate   uint64 // at most, bits per second; 0: not said
}

// ridMap returns the extmap of an answer by which a client says in its packets of which layer they
// are, empty when it offers none: browsers want it in an answer that takes a layer. What the client
// only sends, as Firefox, is what an answer only receives (RFC 8285, section 6).
func ridMap(d *sdp.MediaDescription) string {
	for _, a := range d.Attributes {
		if a.Key == "extmap" && strings.HasSuffix(a.Value, " "+sdp.SDESRTPStreamIDURI) {
			return strings.Replace(a.Value, "/sendonly ", "/recvonly ", 1)
		}
	}
	return ""
}

// layersOf returns the layers that a client offers to send, in its order. A client that
// does not offer several has none.
func layersOf(d *sdp.MediaDescription) (list []layer) {
	value, _ := d.Attribute("simulcast")
	fields := strings.Fields(value)
	for i := 0; i+1 < min(len(fields), 4); i += 2 {
		if fields[i] != "send" {
			continue
		}
		for _, one := range strings.SplitN(fields[i+1], ";", maxLayers+1) {
			one, _, _ = strings.Cut(one, ",") // of alternatives the first
			if l, ok := layerOf(d, strings.TrimPrefix(one, "~")); ok {
				list = append(list, l)
			}
		}
	}
	return list
}

// layerOf returns the layer of a name (RFC 8851, section 5).
func layerOf(d *sdp.MediaDescription, rid string) (l layer, ok bool) {
	for _, a := range d.Attributes {
		name, rest, _ := strings.Cut(a.Value, " ")
		direction, limits, _ := strings.Cut(rest, " ")
		if a.Key != "rid" || name != rid || direction != "send" {
			continue
		}
		number := func(name string) uint64 {
			n, _ := strconv.ParseUint(rtpmedia.Params(limits)[name], 10, 31)
			return n
		}
		l = layer{rid: rid, pixels: number("max-width") * number("max-height"), rate: number("max-br")}
		if l.pixels == 0 {
			l.pixels = number("max-fs") * 256 // macroblocks
		}
		return l, true
	}
	return layer{}, false
}

// wholeNames are the names that clients give to the layer that is not scaled down, the
// surest first: of f, h and q the h is half the size, of h, m and l it is the highest.
// OBS counts from it on.
var wholeNames = []string{"f", "full", "high", "hi", "h", "0"}

// largest returns the name of the layer with the largest pictures: as the layers say
// themselves, else by their names. Else it is the last one, for browsers scale the others
// down, by two each, where a page does not say how. It returns "" of no layers.
func largest(list []layer) string {
	best := layer{}
	for _, l := range list {
		if l.pixels > best.pixels || l.pixels == best.pixels && l.rate > best.rate {
			best = l
		}
	}
	if best.rid != "" {
		return best.rid
	}
	for _, name := range wholeNames {
		for _, l := range list {
			if strings.EqualFold(l.rid, name) {
				return l.rid
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1].rid
}
