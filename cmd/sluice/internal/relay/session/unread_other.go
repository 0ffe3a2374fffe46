//go:build !linux

package session

// tcpMemory is not known here.
func tcpMemory() (bytes int64, known bool) { return 0, false }
