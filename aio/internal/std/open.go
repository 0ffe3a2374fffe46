package std

import (
	"net"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// Open returns a Driver, which is there on every system.
func Open(s op.Settings) *Driver {
	d := &Driver{
		settings: s,
		table:    table{conns: make(map[net.Conn]*conn), known: new(knownConns)},
		life:     life{gone: make(chan struct{}), ended: make(chan struct{})},
	}
	d.more.L = &d.mu
	return d
}
