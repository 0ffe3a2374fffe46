//go:build !unix

package echo

import "net"

// more is unknown on this system: bytes are sent back at once.
type more struct{}

func newMore(net.Conn) more { return more{} }

func (more) waits() bool { return false }
