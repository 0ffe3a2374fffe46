package access

import (
	"fmt"
	"net/netip"
)

// ParseAllow parses a list of addresses and networks such as "10.0.0.0/8,
// 192.0.2.7, 2001:db8::/32". A network whose address has bits behind its length
// is refused: 10.0.0.5/8 may have been meant as one address. An empty text is an
// empty list, which allows every address.
func ParseAllow(text string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, word := range split(text) {
		p, err := netip.ParsePrefix(word)
		if err != nil {
			a, addrErr := netip.ParseAddr(word)
			if addrErr != nil {
				return nil, fmt.Errorf("access: allow list: %q is neither an address nor a network such as 10.0.0.0/8", word)
			}
			p = netip.PrefixFrom(a.WithZone(""), a.BitLen())
		} else if p != p.Masked() {
			return nil, fmt.Errorf("access: allow list: %s is an address within %s: write one of them without the other's part", word, p.Masked())
		}
		list = append(list, p)
	}
	if _, err := NewAllowList(list); err != nil {
		return nil, err
	}
	return list, nil
}

// AllowList is a list of networks, IPv4 ones in their own form.
type AllowList []netip.Prefix

// NewAllowList makes a list of networks. An empty one matches no address.
func NewAllowList(prefixes []netip.Prefix) (AllowList, error) {
	var list AllowList
	for _, p := range prefixes {
		// ::ffff:10.0.0.0/104 and 10.0.0.0/8 are the same hosts (RFC 4291,
		// section 2.5.5.2), and on a socket for both families the former is
		// how they appear.
		if a := p.Addr(); a.Is4In6() {
			if p.Bits() < 96 {
				return nil, fmt.Errorf("access: allow list: %s is neither a network of IPv4 nor of IPv6", p)
			}
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		if !p.IsValid() {
			return nil, fmt.Errorf("access: allow list: %s is not a network", p)
		}
		list = append(list, p.Masked())
	}
	return list, nil
}

// Has reports whether a, as plain returns it, is in the list.
func (l AllowList) Has(a netip.Addr) bool {
	for _, p := range l {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// plain normalises an address: IPv4-mapped IPv6 becomes IPv4, and the zone is
// removed.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
