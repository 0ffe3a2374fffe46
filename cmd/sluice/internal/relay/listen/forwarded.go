package listen

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
)

// ErrForwarded: two header fields of a request name different clients, so the
// client itself has sent one of them.
var ErrForwarded = errors.New("X-Forwarded-For and Forwarded name different clients")

// Unknown is the address of a client when its proxy gives none.
const Unknown = "unknown"

// Client returns the address of a request's client. That is the peer, unless the
// peer is a proxy; then it is the last address in X-Forwarded-For or Forwarded
// (RFC 7239) that is not a proxy's, since the entries before it may be forged. It
// is IP:port, or IP when the proxy gives no port, or Unknown.
func (p *Proxies) Client(peer string, h http.Header) (string, error) {
	from, err := netip.ParseAddrPort(peer)
	if err != nil || !p.trusts(from.Addr()) {
		return peer, nil
	}
	var found string
	for _, nodes := range [][]string{xForwardedFor(h), forwarded(h)} {
		client := p.last(nodes)
		switch {
		case client == "":
		case found == "":
			found = client
		case host(found) != host(client):
			return "", ErrForwarded
		}
	}
	if found == "" {
		return peer, nil
	}
	return found, nil
}

// last returns the last node that is not a proxy, the first node when all are
// proxies, and "" when there are none.
func (p *Proxies) last(nodes []string) string {
	client := ""
	for i := len(nodes) - 1; i >= 0; i-- {
		address, text := node(nodes[i])
		client = text
		if !p.trusts(address) {
			break
		}
	}
	return client
}

// node parses an address with or without a port.
func node(text string) (netip.Addr, string) {
	if a, err := netip.ParseAddrPort(text); err == nil {
		a = netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
		return a.Addr(), a.String()
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		return netip.Addr{}, Unknown
	}
	a = a.Unmap().WithZone("")
	return a, a.String()
}

// host returns an address without its port.
func host(client string) string {
	a, err := netip.ParseAddrPort(client)
	if err != nil {
		return client
	}
	return a.Addr().String()
}

func xForwardedFor(h http.Header) []string {
	var nodes []string
	for _, line := range h.Values("X-Forwarded-For") {
		for word := range strings.SplitSeq(line, ",") {
			nodes = append(nodes, strings.TrimSpace(word))
		}
	}
	return nodes
}

// forwarded returns the parameters "for" of the field Forwarded, one for each
// element, empty for one that has none (RFC 7239, section 4).
func forwarded(h http.Header) []string {
	var nodes []string
	for _, line := range h.Values("Forwarded") {
		for _, element := range unquotedSplit(line, ',') {
			client := ""
			for _, pair := range unquotedSplit(element, ';') {
				name, value, _ := strings.Cut(pair, "=")
				if strings.EqualFold(strings.TrimSpace(name), "for") {
					client = unquote(strings.TrimSpace(value))
				}
			}
			nodes = append(nodes, client)
		}
	}
	return nodes
}

// unquotedSplit splits text at each sep outside quoted strings.
func unquotedSplit(text string, sep byte) []string {
	var parts []string
	quoted, from := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == sep && !quoted:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:])
}

// unquote returns the content of a quoted string, and other text unchanged.
func unquote(text string) string {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return text
	}
	return strings.ReplaceAll(text[1:len(text)-1], `\`, "")
}
