//go:build race

package sys

import "sync/atomic"

// Race says whether the race detector is compiled in.
const Race = true

// StoreRelaxed is the fenced store under the race detector, which knows no
// weaker one.
func StoreRelaxed(p *uint32, v uint32) { atomic.StoreUint32(p, v) }
