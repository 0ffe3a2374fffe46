//go:build !linux

package web

import "runtime/metrics"

// resident is the approximate resident memory of the process, in bytes: what the
// Go runtime has from the system and has not returned.
func resident() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
