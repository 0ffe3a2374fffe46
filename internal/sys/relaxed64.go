//go:build !race && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package sys

import (
	"sync/atomic"
	"unsafe"
)

// StoreRelaxed64 is StoreRelaxed for an atomic of 64 bits.
func StoreRelaxed64(p *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(p)) = v }
