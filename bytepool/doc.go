// Package bytepool keeps byte slices and buffers for reuse. Nothing in it
// counts references: a slice has one owner at a time, who says when it is
// done. For bytes that several goroutines look at, use package mem.
//
// Four pools, each for another question:
//
//   - [BytePool]: slices of one capacity in a sync.Pool. The cheapest; the
//     garbage collector may empty it.
//   - [BufferPool]: the same for *bytes.Buffer.
//   - [ByteFixPool]: slices in a bounded channel. The collector leaves it
//     alone, so it keeps its slices through quiet times, and keeps their memory.
//   - [BudgetPool]: slices whose total, in use and idle, stays under a number
//     of bytes. Who finds it used up fails, waits, or goes without the pool.
//
// Ownership, in the words that all packages of this module use. Get, under any
// of its names, transfers a slice to the caller: it is the caller's alone,
// for as long as the caller likes. Put transfers it back: afterwards neither
// it nor anything that was cut from it may be read or written, whatever Put
// returned. Forgetting a Put costs reuse, never correctness, except that
// a BudgetPool goes on counting what was forgotten.
//
// Contents are never zeroed. A slice from Get may hold what an earlier owner
// left in it, also beyond its length; keep secrets out or clear them before
// Put.
//
// Putting the same slice back twice hands it to two owners at once. Only
// BudgetPool, which knows what it has lent, can refuse that, as long as nobody
// got the slice in between. The others cannot detect it. A build with the tag
// invariants fills slices on their way in and out, and panics on a second Put,
// with the same exception, and on a Get of what was written after its Put.
//
// All pools may be used by many goroutines at once and must not be copied.
// Only their constructors make usable ones.
package bytepool
