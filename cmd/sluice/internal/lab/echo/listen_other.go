//go:build !linux

package echo

import "net"

// Listen needs Linux.
func Listen(int) (*net.TCPListener, error) { return nil, platform() }
