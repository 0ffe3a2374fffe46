package relay

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
)

// takesSRT reports whether this server itself is what takes calls by SRT at an address,
// host:port: SRT says nothing by which a stream that comes back could be known.
func (s *Server) takesSRT(ctx context.Context, address string) bool {
	own, err := netip.ParseAddrPort(s.Addresses()["srt"])
	if err != nil {
		return false
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != strconv.Itoa(int(own.Port())) {
		return false
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false // the call says so
	}
	return slices.ContainsFunc(addresses, func(a netip.Addr) bool {
		a = a.Unmap()
		return a.IsUnspecified() || a == own.Addr().Unmap() || own.Addr().IsUnspecified() && isHere(a)
	})
}

// isHere reports whether an address is one of this machine.
func isHere(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	list, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(list, func(one net.Addr) bool {
		prefix, err := netip.ParsePrefix(one.String())
		return err == nil && prefix.Addr() == a
	})
}
