//go:build race || !(amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package sys

import "sync/atomic"

// StoreRelaxed64 is the fenced store: under the race detector, which knows no
// weaker one, and where a machine word is shorter.
func StoreRelaxed64(p *atomic.Uint64, v uint64) { p.Store(v) }
