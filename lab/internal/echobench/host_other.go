//go:build !linux

package echobench

import (
	"io"
	"net/netip"
)

// HostServer needs Linux.
func HostServer(Server, int, int, io.Reader, io.Writer) error { return platform() }

// HostClient needs Linux.
func HostClient(netip.AddrPort, int, uint64, bool, io.Reader, io.Writer) error { return platform() }
