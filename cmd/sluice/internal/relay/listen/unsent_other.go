//go:build !linux

package listen

import "net"

// limitUnsent does nothing here.
func limitUnsent(*net.TCPConn) {}
