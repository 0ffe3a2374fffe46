// Package mem is counted memory: blocks from per-processor caches that are
// filled once, shared by reference and given back by the last holder.
//
// A [Buf] is one reference to a stretch of a block. An [Allocator] hands Bufs
// out and takes blocks back; a [Memory] is an ordered list of Bufs, and a
// [MemoryReader] reads one. A [Slab] is for code that fills blocks and cuts
// them into Bufs, such as readers.
//
// Three words say whose bytes are whose, here and in all packages on top:
//
//   - borrowed: yours until the call that is named. Bytes of a Buf are
//     borrowed until its Release.
//   - retained: yours until you call Release, once.
//   - transferred: not yours after the call, also when it fails.
//
// Forgetting a Release costs reuse, never correctness: block memory is
// ordinary Go memory and the collector frees what is unreachable. The leak
// levels name the line that forgot, and the outstanding references are the
// pprof profile sluice_bufs. A release too many panics before it does harm, of a
// copy of a Buf too. That does not hold for a Slab: see there.
//
// Allocators and Bufs of the same block may be used by many goroutines at
// once; a single variable of type Buf, Memory or Slab by one at a time.
package mem
