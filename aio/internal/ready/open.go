//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"time"

	"github.com/sluice-go/sluice/aio/internal/blocks"
	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/poller"
)

// System is the name of this system's readiness poller.
const System = poller.Name

// Open returns a Driver. The error says why the kernel refused one.
func Open(s op.Settings) (*Driver, error) {
	d := &Driver{
		settings: s,
		start:    time.Now(),
		leased:   blocks.Leased{From: s.Allocator, Most: s.BufferSize},
		round:    round{counted: blocks.Counted{From: s.Allocator, Most: s.BufferSize}},
		table:    table{conns: make(map[uintptr]*conn), open: new(descriptors)},
		life:     life{gone: make(chan struct{})},
	}
	d.round.look, d.round.ask = d.lookForWork, d.askPoller
	var err error
	if d.poller, err = poller.Open(d.start); err != nil {
		return nil, err
	}
	d.watchCollector()
	return d, nil
}
