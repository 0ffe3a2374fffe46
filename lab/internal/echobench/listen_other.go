//go:build !linux

package echobench

import "net"

// Listen needs Linux.
func Listen(int) (*net.TCPListener, error) { return nil, platform() }
