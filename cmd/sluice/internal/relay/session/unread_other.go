//go:build !linux

package session

import "net"

// unread is not known here: 0.
func unread(net.Conn) int { return 0 }

// tcpMemory is not known here.
func tcpMemory() (bytes int64, known bool) { return 0, false }
