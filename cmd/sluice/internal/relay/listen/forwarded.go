package listen

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// ErrForwarded: the header fields of a request do not say clearly who its client
// is. Since proxies write them well, the client itself has sent a part of them.
var ErrForwarded = errors.New("the address of the client is not clear")

// Unknown is the address of a client when its proxy gives none.
const Unknown = "unknown"

// Client returns the address of a request's client. That is the peer, unless the
// peer is a proxy; then it is the last address in X-Forwarded-For or Forwarded
// (RFC 7239) that is not a proxy's, since the entries before it may be forged. It
// is IP:port, or IP when the proxy gives no port, or Unknown.
func (p *Proxies) Client(peer string, h http.Header) (string, error) {
	from, err := netip.ParseAddrPort(peer)
	if err != nil || !p.Trusts(from.Addr()) {
		return peer, nil
	}
	elements, ok := forwarded(h)
	if !ok {
		return "", fmt.Errorf("%w: Forwarded is malformed (RFC 7239)", ErrForwarded)
	}
	var found string
	for _, nodes := range [][]string{xForwardedFor(h), elements} {
		client := p.last(nodes)
		switch {
		case client == "":
		case found == "":
			found = client
		case host(found) != host(client):
			return "", fmt.Errorf("%w: X-Forwarded-For and Forwarded name different clients", ErrForwarded)
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
		if !p.Trusts(address) {
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
	// A proxy may hide the port behind a name such as _p (RFC 7239, section 6.2).
	if i := strings.LastIndex(text, ":_"); i >= 0 {
		text = text[:i]
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
