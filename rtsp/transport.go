package rtsp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	mostTransports = 16 // in one header
	mostParams     = 32 // in one transport
)

// Transport is one of the alternatives in a Transport header (RFC 2326, section
// 12.39; RFC 7826, section 18.54).
type Transport struct {
	// Protocol, Profile and Lower are in capitals: RTP, AVP and TCP or UDP or
	// nothing, which means UDP.
	Protocol, Profile, Lower string
	Unicast, Multicast       bool
	Destination, Source      string
	// Interleaved are the channels of the connection that the request is on.
	Interleaved *Pair
	// Port is of multicast; ClientPort and ServerPort are of unicast.
	Port, ClientPort, ServerPort *Pair
	Layers, TTL                  int      // 0: not said
	SSRC                         []uint32 // more than one with RFC 7826 only
	Mode                         []string // methods in capitals; none means PLAY
	Append                       bool     // a recording is appended to what there is
	// Other are the parameters that are not above, or not as they should be, as
	// they were written, quotation marks included: RFC 7826's dest_addr and
	// src_addr for two.
	Other []Param
}

// Param is a parameter; Value is empty when it has none.
type Param struct{ Name, Value string }

// Pair is a range of two ports or channels, RTP and RTCP; both are the same when
// there is one.
type Pair struct{ First, Last int }

func (p Pair) String() string {
	if p.First == p.Last {
		return strconv.Itoa(p.First)
	}
	return strconv.Itoa(p.First) + "-" + strconv.Itoa(p.Last)
}

// parsePair understands "4588-4589" and "4588", up to limit.
func parsePair(text string, limit uint64) (*Pair, error) {
	first, last, two := strings.Cut(text, "-")
	if !two {
		last = first
	}
	a, err := parseDigits(first, 31)
	b, err2 := parseDigits(last, 31)
	if err != nil || err2 != nil || a > b || b > limit {
		return nil, syntax("range", text)
	}
	return &Pair{int(a), int(b)}, nil
}

// Record reports whether the transport is for a client that sends.
func (t *Transport) Record() bool {
	for _, m := range t.Mode {
		// RECEIVE stands in old programs for RECORD.
		if m == Record || m == "RECEIVE" {
			return true
		}
	}
	return false
}

// ParseTransport understands the value of a Transport header: the alternatives,
// the best first. A client that offers several in header fields of their own
// means the same; join their values with commas.
func ParseTransport(text string) ([]Transport, error) {
	specs, err := splitQuoted(text, ',', mostTransports)
	if err != nil {
		return nil, err
	}
	var list []Transport
	for _, spec := range specs {
		if spec == "" {
			continue // an empty element of a list counts for nothing: RFC 2068, section 2.1
		}
		t, err := parseTransport(spec)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	if len(list) == 0 {
		return nil, syntax("Transport", text)
	}
	return list, nil
}

func parseTransport(spec string) (Transport, error) {
	params, err := splitQuoted(spec, ';', mostParams+1)
	if err != nil {
		return Transport{}, err
	}
	var t Transport
	// The protocol should be the first, and is not with every peer.
	at := max(0, slices.IndexFunc(params, func(p string) bool { return strings.Contains(p, "/") && !strings.Contains(p, "=") }))
	id := strings.Split(strings.ToUpper(params[at]), "/")
	if len(id) < 2 || len(id) > 3 {
		return t, syntax("Transport", spec)
	}
	for _, part := range id {
		if !isToken(part) {
			return t, syntax("Transport", spec)
		}
	}
	t.Protocol, t.Profile = id[0], id[1]
	if len(id) == 3 {
		t.Lower = id[2]
	}
	seen := map[string]bool{}
	for i, p := range params {
		if i == at || p == "" {
			continue
		}
		name, value, _ := strings.Cut(p, "=")
		name, value = trimmed(name), trimmed(value)
		if !isToken(name) {
			return Transport{}, syntax("Transport parameter", p)
		}
		lower := strings.ToLower(name)
		if err := t.set(lower, name, value, seen[lower]); err != nil {
			return Transport{}, err
		}
		seen[lower] = true
	}
	if t.Unicast && t.Multicast {
		return Transport{}, syntax("Transport", spec)
	}
	return t, nil
}

// set takes one parameter. What it does not understand goes to Other, but for
// ports and channels: a session with wrong ones would not work.
func (t *Transport) set(lower, name, value string, again bool) (err error) {
	pair := func(p **Pair, limit uint64) {
		if again {
			err = syntax("second Transport parameter", name)
			return
		}
		*p, err = parsePair(value, limit)
	}
	other := func() { t.Other = append(t.Other, Param{name, value}) }
	switch {
	case lower == "interleaved":
		pair(&t.Interleaved, 255)
	case lower == "port":
		pair(&t.Port, 65535)
	case lower == "client_port":
		pair(&t.ClientPort, 65535)
	case lower == "server_port":
		pair(&t.ServerPort, 65535)
	case again:
		other()
	case lower == "unicast" && value == "":
		t.Unicast = true
	case lower == "multicast" && value == "":
		t.Multicast = true
	case lower == "append" && value == "":
		t.Append = true
	case lower == "destination" && value != "":
		t.Destination = value
	case lower == "source" && value != "":
		t.Source = value
	case lower == "ttl" && small(value, &t.TTL, 255), lower == "layers" && small(value, &t.Layers, 65535):
	case lower == "ssrc" && parseSSRC(value, &t.SSRC):
	case lower == "mode" && parseModes(value, &t.Mode):
	default:
		other()
	}
	return err
}

// small is a number from 1 to limit.
func small(text string, v *int, limit uint64) bool {
	n, err := parseDigits(text, 31)
	if err != nil || n == 0 || n > limit {
		return false
	}
	*v = int(n)
	return true
}

func parseSSRC(text string, list *[]uint32) bool {
	var got []uint32
	for part := range strings.SplitSeq(text, "/") {
		n, err := strconv.ParseUint(part, 16, 32)
		if err != nil || len(part) > 8 || len(got) == mostParams {
			return false
		}
		got = append(got, uint32(n))
	}
	*list = got
	return true
}

// parseModes understands PLAY, "PLAY" and "PLAY,RECORD".
func parseModes(text string, list *[]string) bool {
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	}
	var got []string
	for part := range strings.SplitSeq(text, ",") {
		m := strings.ToUpper(trimmed(part))
		if !isToken(m) || len(got) == mostParams {
			return false
		}
		got = append(got, m)
	}
	*list = got
	return true
}

// String is the transport as it stands in a header.
func (t Transport) String() string {
	var s strings.Builder
	s.WriteString(t.Protocol + "/" + t.Profile)
	if t.Lower != "" {
		s.WriteString("/" + t.Lower)
	}
	put := func(name string, value string, is bool) {
		if !is {
			return
		}
		s.WriteString(";" + name)
		if value != "" {
			s.WriteString("=" + value)
		}
	}
	pair := func(name string, p *Pair) {
		if p != nil {
			put(name, p.String(), true)
		}
	}
	put("unicast", "", t.Unicast)
	put("multicast", "", t.Multicast)
	put("destination", t.Destination, t.Destination != "")
	put("source", t.Source, t.Source != "")
	put("layers", strconv.Itoa(t.Layers), t.Layers > 0)
	pair("interleaved", t.Interleaved)
	put("append", "", t.Append)
	put("ttl", strconv.Itoa(t.TTL), t.TTL > 0)
	pair("port", t.Port)
	pair("client_port", t.ClientPort)
	pair("server_port", t.ServerPort)
	var ssrc []string
	for _, n := range t.SSRC {
		ssrc = append(ssrc, fmt.Sprintf("%08X", n))
	}
	put("ssrc", strings.Join(ssrc, "/"), len(ssrc) > 0)
	mode := strings.Join(t.Mode, ",")
	if len(t.Mode) > 1 {
		mode = `"` + mode + `"`
	}
	put("mode", mode, len(t.Mode) > 0)
	for _, p := range t.Other {
		put(p.Name, p.Value, true)
	}
	return s.String()
}

// FormatTransport is the value of a Transport header with these alternatives.
func FormatTransport(list []Transport) string {
	var specs []string
	for _, t := range list {
		specs = append(specs, t.String())
	}
	return strings.Join(specs, ",")
}

// splitQuoted splits text at sep outside of quoted strings (RFC 2326, appendix
// D.1, quoted-string), into at most limit parts without the space around them.
func splitQuoted(text string, sep byte, limit int) ([]string, error) {
	var parts []string
	from, quoting := 0, false
	part := func(to int) error {
		if len(parts) == limit {
			return tooLong("number of parts", limit+1, limit)
		}
		parts = append(parts, trimmed(text[from:to]))
		from = to + 1
		return nil
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoting = !quoting
		case quoting && c == '\\':
			i++
		case c == sep && !quoting:
			if err := part(i); err != nil {
				return nil, err
			}
		}
	}
	if quoting {
		return nil, syntax("quoted string", text)
	}
	return parts, part(len(text))
}
