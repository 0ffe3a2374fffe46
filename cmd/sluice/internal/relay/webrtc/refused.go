package webrtc

import (
	"slices"
	"strings"

	"github.com/pion/sdp/v3"
)

// A refused medium is one of an offer that is neither pictures nor sound, as a data channel. The library is not
// shown it, and the answer rejects it (RFC 9429, section 5.3.1): the others play.
type refused struct {
	place int    // among the media of the offer
	line  string // of the answer, behind "m="
	mid   string
}

// carried reports whether a medium is pictures or sound.
func carried(m *sdp.MediaDescription) bool {
	return m.MediaName.Media == "video" || m.MediaName.Media == "audio"
}

// refuse takes the media that are neither pictures nor sound out of the text for the library.
func (o *offer) refuse(d *sdp.SessionDescription) {
	for i, m := range d.MediaDescriptions {
		if carried(m) {
			continue
		}
		r := refused{place: i, line: m.MediaName.Media + " 0 " + strings.Join(m.MediaName.Protos, "/")}
		for _, f := range m.MediaName.Formats[:min(len(m.MediaName.Formats), 1)] {
			r.line += " " + f
		}
		r.mid, _ = m.Attribute("mid")
		o.refused = append(o.refused, r)
	}
	if len(o.refused) == 0 {
		return
	}
	var b strings.Builder
	place, out := -1, false
	for line := range strings.Lines(o.text) {
		if strings.HasPrefix(line, "m=") {
			if place < 0 {
				b.WriteString(connectionOf(d))
			}
			place++
			out = slices.ContainsFunc(o.refused, func(r refused) bool { return r.place == place })
		}
		if mids, ok := strings.CutPrefix(line, bundleGroup); ok {
			list := slices.DeleteFunc(strings.Fields(mids), func(mid string) bool {
				return slices.ContainsFunc(o.refused, func(r refused) bool { return r.mid == mid })
			})
			line = bundleGroup + strings.Join(list, " ") + "\r\n"
		}
		if !out {
			b.WriteString(line)
		}
	}
	o.text = b.String()
}

// connectionOf returns lines for the whole of an offer whose group is named after a medium that is taken out: that
// may be the only one that says how all are connected.
func connectionOf(d *sdp.SessionDescription) string {
	first := firstOfGroup(d)
	if first == nil || carried(first) {
		return ""
	}
	var b strings.Builder
	for _, name := range connection {
		_, all := d.Attribute(name)
		if value, ok := first.Attribute(name); ok && !all {
			b.WriteString("a=" + name + ":" + value + "\r\n")
		}
	}
	return b.String()
}

const bundleGroup = "a=group:BUNDLE "

// rejecting returns an answer that rejects the media that the library was not shown.
func (o *offer) rejecting(answer string) string {
	const start = "\r\nm="
	if len(o.refused) == 0 {
		return answer
	}
	media := strings.Split(strings.TrimSuffix(answer, "\r\n"), start)
	for _, r := range o.refused {
		text := r.line + "\r\nc=IN IP4 0.0.0.0"
		if r.mid != "" {
			text += "\r\na=mid:" + r.mid
		}
		media = slices.Insert(media, min(r.place+1, len(media)), text+"\r\na=inactive")
	}
	return strings.Join(media, start) + "\r\n"
}
