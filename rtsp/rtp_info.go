package rtsp

import (
	"fmt"
	"strconv"
	"strings"
)

// mostRTPInfo bounds the streams in one header.
const mostRTPInfo = 64

// RTPInfo says of one stream with which packet a PLAY begins (RFC 2326, section
// 12.33; RFC 7826, section 18.45). What is nil was not said.
type RTPInfo struct {
	URL     string
	SSRC    *uint32 // RFC 7826 only
	Seq     *uint16
	RTPTime *uint32
}

// ParseRTPInfo understands the value of an RTP-Info header of either RFC. A
// stream with several sources comes as several RTPInfos of the same URL.
// Parameters that are not known are passed over.
func ParseRTPInfo(text string) ([]RTPInfo, error) {
	parts, err := splitQuoted(text, ',', 2*mostRTPInfo)
	if err != nil {
		return nil, err
	}
	// In RFC 2326 the URL is not quoted and may have commas in it, so that only
	// "url=" begins another stream.
	var specs []string
	for _, p := range parts {
		switch {
		case hasPrefixFold(p, "url="):
			specs = append(specs, p)
		case len(specs) == 0:
			return nil, syntax("RTP-Info", text)
		default:
			specs[len(specs)-1] += "," + p
		}
	}
	var list []RTPInfo
	for _, spec := range specs {
		more, err := parseRTPInfo(spec[len("url="):])
		if err != nil {
			return nil, err
		}
		if list = append(list, more...); len(list) > mostRTPInfo {
			return nil, tooLong("number of streams in RTP-Info", len(list), mostRTPInfo)
		}
	}
	return list, nil
}

func parseRTPInfo(spec string) ([]RTPInfo, error) {
	if !strings.HasPrefix(spec, `"`) {
		return parsePlainRTPInfo(spec)
	}
	url, rest, ok := strings.Cut(spec[1:], `"`)
	if !ok || !isURL(url) || strings.Contains(url, `\`) {
		return nil, syntax("URL in RTP-Info", spec)
	}
	if rest = strings.TrimSpace(rest); rest == "" || rest[0] == ';' {
		// Of neither RFC: what FormatRTPInfo writes of a URL that has a parameter's name in it.
		return withParams(url, strings.SplitN(rest, ";", mostParams))
	}
	var list []RTPInfo
	for _, source := range strings.Fields(rest) {
		id, params, _ := strings.Cut(source, ":")
		name, value, _ := strings.Cut(id, "=")
		ssrc, err := strconv.ParseUint(value, 16, 32)
		if err != nil || len(value) > 8 || !strings.EqualFold(name, "ssrc") {
			return nil, syntax("source in RTP-Info", source)
		}
		n := uint32(ssrc)
		info := RTPInfo{URL: url, SSRC: &n}
		for param := range strings.SplitSeq(params, ";") {
			if err := info.set(param); err != nil {
				return nil, err
			}
		}
		if list = append(list, info); len(list) > mostRTPInfo {
			return nil, tooLong("number of sources in RTP-Info", len(list), mostRTPInfo)
		}
	}
	return list, nil
}

// parsePlainRTPInfo is for the form of RFC 2326. The URL may have semicolons in
// it: it ends where a known parameter begins.
func parsePlainRTPInfo(spec string) ([]RTPInfo, error) {
	parts := strings.SplitN(spec, ";", mostParams)
	params := len(parts)
	for i, p := range parts {
		if p = trimmed(p); hasPrefixFold(p, "seq=") || hasPrefixFold(p, "rtptime=") {
			params = i
			break
		}
	}
	url := trimmed(strings.Join(parts[:params], ";"))
	if !isURL(url) || strings.Contains(url, `"`) {
		return nil, syntax("URL in RTP-Info", spec)
	}
	return withParams(url, parts[params:])
}

// withParams returns what parameters say of a stream without a source.
func withParams(url string, params []string) ([]RTPInfo, error) {
	info := RTPInfo{URL: url}
	for _, p := range params {
		if err := info.set(p); err != nil {
			return nil, err
		}
	}
	return []RTPInfo{info}, nil
}

func (i *RTPInfo) set(param string) error {
	name, value, _ := strings.Cut(trimmed(param), "=")
	switch strings.ToLower(name) {
	case "seq":
		n, err := parseDigits(value, 16)
		if err != nil {
			return syntax("seq in RTP-Info", value)
		}
		seq := uint16(n)
		i.Seq = &seq
	case "rtptime":
		n, err := parseDigits(value, 32)
		if err != nil {
			return syntax("rtptime in RTP-Info", value)
		}
		at := uint32(n)
		i.RTPTime = &at
	}
	return nil
}

// FormatRTPInfo is the value of an RTP-Info header; an RTPInfo with a source is
// written as RFC 7826 has it, others as RFC 2326 does. A URL that would be read as
// more than that, such as "x;seq=1", is quoted.
func FormatRTPInfo(list []RTPInfo) string {
	var specs []string
	for _, i := range list {
		var params []string
		if i.Seq != nil {
			params = append(params, fmt.Sprintf("seq=%d", *i.Seq))
		}
		if i.RTPTime != nil {
			params = append(params, fmt.Sprintf("rtptime=%d", *i.RTPTime))
		}
		text := strings.Join(params, ";")
		switch {
		case i.SSRC != nil && text != "":
			specs = append(specs, fmt.Sprintf(`url="%s" ssrc=%08X:%s`, i.URL, *i.SSRC, text))
			continue
		case i.SSRC != nil:
			specs = append(specs, fmt.Sprintf(`url="%s" ssrc=%08X`, i.URL, *i.SSRC))
			continue
		case text != "":
			text = ";" + text
		}
		spec := "url=" + i.URL + text
		if read, err := ParseRTPInfo(spec); err != nil || len(read) > 1 || read[0].URL != i.URL {
			spec = `url="` + i.URL + `"` + text
		}
		specs = append(specs, spec)
	}
	return strings.Join(specs, ",")
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
