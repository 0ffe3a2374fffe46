package webrtc

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pion/sdp/v3"
	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/flv"
)

// Errors that callers match with errors.Is.
var (
	// ErrOffer: the body is not an offer that can be answered.
	ErrOffer = errors.New("invalid offer")
	// ErrNoCodec: stream and offer have no codec in common.
	ErrNoCodec = errors.New("no codec in common")
)

// Limits of an offer. Browsers send 4 to 8 KiB with two media of some 20 formats.
const (
	MaxOffer      = 64 << 10 // bytes
	maxMedia      = 8
	maxFormats    = 64  // of a medium
	maxCredential = 256 // bytes of ice-ufrag and of ice-pwd (RFC 8839, section 5.4)
	maxSourceRows = 128 // lines of a medium on its sources: the library compares each with all
)

// An offer is what a client offers.
type offer struct {
	text    string // for the library: with what it reads
	alone   bool   // one medium, without a group
	waits   bool   // the client waits for the handshake: ffmpeg does, though RFC 9725 has it begin
	media   []medium
	refused []refused
}

// A medium is one m-section of an offer.
type medium struct {
	mid             string
	first           string // format, and what describes it
	described       string
	video           bool
	sends, receives bool
	formats         []offered
	other           []string // encodings that have no form here
	layer           string   // of simulcast, the one that is taken; empty without
	ridMap          string   // extmap of a layer's name in packets
}

// offered is one format of a medium, of a codec that is known here.
type offered struct {
	rtpmedia.Format
	params string // of fmtp, as they are in the offer
	rtx    int    // payload type of what is sent again; -1: none
}

// parseOffer reads an offer, borrowed until it returns. An error matches ErrOffer.
func parseOffer(p []byte) (*offer, error) {
	if len(p) > MaxOffer {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrOffer, MaxOffer)
	}
	if !bytes.HasSuffix(p, []byte{'\n'}) {
		p = append(bytes.Clone(p), "\r\n"...) // scripts leave the last end of line out
	}
	var d sdp.SessionDescription
	if err := d.Unmarshal(p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOffer, err)
	}
	if n := len(d.MediaDescriptions); n == 0 || n > maxMedia {
		return nil, fmt.Errorf("%w: %d media, 1 to %d are taken", ErrOffer, n, maxMedia)
	}
	o := &offer{text: forLibrary(string(p), &d)}
	o.refuse(&d)
	first := firstOfGroup(&d)
	for _, m := range d.MediaDescriptions {
		if !carried(m) {
			continue
		}
		if err := o.transport(&d, m, first); err != nil {
			return nil, err
		}
		one := medium{video: m.MediaName.Media == "video"}
		if n := len(m.MediaName.Formats); n == 0 || n > maxFormats {
			return nil, fmt.Errorf("%w: a medium with %d formats, 1 to %d are taken", ErrOffer, n, maxFormats)
		}
		one.sends, one.receives = directions(&d, m)
		if m.MediaName.Port.Value == 0 && !has(m, "bundle-only") {
			one.sends, one.receives = false, false // RFC 8843, section 6
		}
		one.read(m)
		one.name(m)
		if one.ridMap = ridMap(m); one.sends && one.ridMap != "" {
			one.layer = largest(layersOf(m))
		}
		o.media = append(o.media, one)
	}
	if len(o.media) == 0 {
		return nil, fmt.Errorf("%w: neither pictures nor sound", ErrOffer)
	}
	if err := o.bundle(&d); err != nil {
		return nil, err
	}
	return o, nil
}

// connection are the attributes that say how media are connected.
var connection = []string{"ice-ufrag", "ice-pwd", "fingerprint", "setup"}

// transport checks that it is said how a medium is connected: there, for all, or in the first medium of the group,
// which alone has it in an offer of RFC 9429, section 5.2.1, as is the example of RFC 9725.
func (o *offer) transport(d *sdp.SessionDescription, m, first *sdp.MediaDescription) error {
	places := []func(string) (string, bool){m.Attribute, d.Attribute}
	if first != nil {
		places = append(places, first.Attribute)
	}
	for _, name := range connection {
		value := ""
		for i := 0; value == "" && i < len(places); i++ {
			value, _ = places[i](name)
		}
		if value == "" {
			return fmt.Errorf("%w: a medium without %s", ErrOffer, name)
		}
		if strings.HasPrefix(name, "ice-") && len(value) > maxCredential {
			return fmt.Errorf("%w: %s of %d bytes, at most %d are taken", ErrOffer, name, len(value), maxCredential)
		}
		o.waits = o.waits || name == "setup" && value == "passive"
	}
	return nil
}

// firstOfGroup returns the medium that the group of all is named after, nil without one. Each line of an offer is looked
// at once: it may have thousands.
func firstOfGroup(d *sdp.SessionDescription) *sdp.MediaDescription {
	named := map[string]*sdp.MediaDescription{}
	for _, m := range d.MediaDescriptions {
		if mid, _ := m.Attribute("mid"); mid != "" && named[mid] == nil {
			named[mid] = m
		}
	}
	for _, a := range d.Attributes {
		if a.Key != "group" {
			continue
		}
		mids, ok := strings.CutPrefix("a="+a.Key+":"+a.Value, bundleGroup)
		if list := strings.Fields(mids); ok && len(list) > 0 && named[list[0]] != nil {
			return named[list[0]]
		}
	}
	return nil
}

// name reads what an answer says of a medium that it rejects.
func (m *medium) name(d *sdp.MediaDescription) {
	m.mid, _ = d.Attribute("mid")
	m.first = d.MediaName.Formats[0]
	for _, key := range []string{"rtpmap", "fmtp"} {
		for _, a := range d.Attributes {
			if a.Key == key && strings.HasPrefix(a.Value, m.first+" ") {
				m.described += "a=" + a.Key + ":" + a.Value + "\r\n"
				break // more of them mean nothing
			}
		}
	}
}

// bundle checks that all media that are used share one connection (RFC 9725, section
// 4.4.1). A medium by itself may be without a group, which the library asks for.
func (o *offer) bundle(d *sdp.SessionDescription) error {
	at := slices.IndexFunc(d.Attributes, func(a sdp.Attribute) bool { return a.Key == "group" && strings.HasPrefix(a.Value, "BUNDLE ") })
	if at < 0 && len(o.media) == 1 {
		before, after, _ := strings.Cut(o.text, "\nm=")
		o.text, o.alone = before+"\na=group:BUNDLE "+o.media[0].mid+"\r\nm="+after, true
		return nil
	}
	var mids []string
	if at >= 0 {
		mids = strings.Fields(d.Attributes[at].Value)[1:]
	}
	for _, one := range o.media {
		if (one.sends || one.receives) && !slices.Contains(mids, one.mid) {
			return fmt.Errorf("%w: a medium, mid %.20q, is not in the group of a=group:BUNDLE", ErrOffer, one.mid)
		}
	}
	return nil
}

// libraryReads are the attributes that the library looks at, which keeps the lines of an offer as long as the session lives, ten
// bytes for each of a short one. Of candidates a server that is ICE-lite needs none.
var libraryReads = map[string]bool{
	"group": true, "mid": true, "msid": true, "ice-ufrag": true, "ice-pwd": true, "ice-lite": true, "ice-options": true, "fingerprint": true, "setup": true,
	"sendrecv": true, "sendonly": true, "recvonly": true, "inactive": true, "bundle-only": true, "rtcp-mux": true, "rtcp-rsize": true,
	"rtpmap": true, "fmtp": true, "rtcp-fb": true, "extmap": true, "extmap-allow-mixed": true, "cryptex": true, "ssrc": true, "ssrc-group": true,
}

// forLibrary leaves out the lines that the library does not read, or has read before in the same medium, the layers of
// simulcast, of which one is taken (layered), and groups that are no bundle. Nor are the sources of the layers there,
// which Firefox names: the library takes several without their layers for the tracks of a medium of Plan B, and refuses
// that.
func forLibrary(text string, d *sdp.SessionDescription) string {
	var b strings.Builder
	media, rows := -1, 0
	before := map[string]bool{}
	ends := func(c rune) bool { return c == '\r' || c == '\n' } // for the library too
	for line := range strings.FieldsFuncSeq(text, ends) {
		name, _, _ := strings.Cut(line, ":")
		if strings.HasPrefix(line, "m=") {
			media, rows = media+1, 0
			clear(before)
		}
		attribute, is := strings.CutPrefix(name, "a=")
		switch {
		case is && !libraryReads[strings.TrimSpace(attribute)], before[line], name == "a=group" && !strings.HasPrefix(line, bundleGroup):
			continue
		case !is && len(line) > 1 && strings.ContainsRune("iuepbrzk", rune(line[0])):
			continue // RFC 8866, section 5: all of these may be missing
		case name == "a=ssrc" || name == "a=ssrc-group":
			if rows++; rows > maxSourceRows || media >= 0 && has(d.MediaDescriptions[media], "simulcast") {
				continue
			}
		}
		before[line] = true
		b.WriteString(line + "\r\n")
	}
	return b.String()
}

func has(m *sdp.MediaDescription, name string) bool {
	_, ok := m.Attribute(name)
	return ok
}

// directions returns what the client does with a medium (RFC 8866, section 6.7).
func directions(d *sdp.SessionDescription, m *sdp.MediaDescription) (sends, receives bool) {
	for _, attributes := range [][]sdp.Attribute{m.Attributes, d.Attributes} {
		for _, a := range attributes {
			switch a.Key {
			case "sendonly":
				return true, false
			case "recvonly":
				return false, true
			case "inactive":
				return false, false
			case "sendrecv":
				return true, true
			}
		}
	}
	return true, true
}

// read reads the formats.
func (m *medium) read(d *sdp.MediaDescription) {
	of := func(name, number string) string {
		for _, a := range d.Attributes {
			if first, rest, ok := strings.Cut(a.Value, " "); a.Key == name && ok && first == number {
				return strings.TrimSpace(rest)
			}
		}
		return ""
	}
	again := map[int]int{} // payload types of what is sent again, by that of the codec
	for _, number := range d.MediaName.Formats {
		payload, err := strconv.ParseUint(number, 10, 7)
		if err != nil {
			continue
		}
		encoding, params := of("rtpmap", number), of("fmtp", number)
		if encoding == "" {
			encoding = map[uint64]string{0: "PCMU/8000", 8: "PCMA/8000"}[payload]
		}
		values := rtpmedia.Params(params)
		name, _, _ := strings.Cut(encoding, "/")
		if strings.EqualFold(name, "rtx") {
			if apt, err := strconv.ParseUint(values["apt"], 10, 7); err == nil {
				again[int(apt)] = int(payload)
			}
			continue
		}
		f, err := rtpmedia.ParseFormat(m.video, uint8(payload), encoding, values)
		if err != nil || mimeTypes[f.Codec] == "" || !m.usable(f.Codec, values) {
			if name != "" {
				m.other = append(m.other, name)
			}
			continue
		}
		m.formats = append(m.formats, offered{Format: f, params: params, rtx: -1})
	}
	if slices.ContainsFunc(m.formats, fragments) {
		m.formats = slices.DeleteFunc(m.formats, func(f offered) bool { return f.Codec == flv.CodecAVC && !fragments(f) })
	}
	for i := range m.formats {
		if payload, ok := again[int(m.formats[i].PayloadType)]; ok {
			m.formats[i].rtx = payload
		}
	}
}

// mimeTypes are the codecs that are carried, by their names in the library.
var mimeTypes = map[flv.FourCC]string{
	flv.CodecAVC: pion.MimeTypeH264, flv.CodecHEVC: pion.MimeTypeH265, flv.CodecAV1: pion.MimeTypeAV1, flv.CodecVP9: pion.MimeTypeVP9,
	flv.CodecOpus: pion.MimeTypeOpus, flv.CodecALaw: pion.MimeTypePCMA, flv.CodecMuLaw: pion.MimeTypePCMU,
}

// usable reports whether a format has the form in which packets are made and taken. H.264
// of mode 0 is that of a client that sends. One that takes it and says no mode takes mode
// 1 too, as all endpoints of WebRTC do (RFC 7742, section 6.2).
func (m *medium) usable(codec flv.FourCC, params map[string]string) bool {
	switch codec {
	case flv.CodecAVC:
		mode := params["packetization-mode"]
		return mode == "1" || mode == "" || mode == "0" && !m.receives
	case flv.CodecHEVC:
		return params["tx-mode"] == "" || strings.EqualFold(params["tx-mode"], "SRST")
	}
	return true
}

// fragments reports whether a format is H.264 that may come in fragments (RFC 6184,
// section 6.3), which goes before H.264 that may not.
func fragments(f offered) bool {
	return f.Codec == flv.CodecAVC && rtpmedia.Params(f.params)["packetization-mode"] == "1"
}
