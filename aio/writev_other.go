//go:build unix && !linux && !aix && !solaris && !illumos

package aio

import "sync"

// canGather is false: what is queued goes out part by part.
const canGather = false

// gather is not used where canGather is false.
type gather struct{ size int }

var gathers = sync.Pool{New: func() any { return new(gather) }}

func (g *gather) reset()                   {}
func (g *gather) add(*op) bool             { return false }
func (g *gather) write(*conn) (int, error) { return 0, nil }
