// Package bytepool keeps byte slices and buffers for reuse. Nothing in it
// counts references: a slice has one owner at a time, and the owner gives it
// back. For bytes that several goroutines share, use package mem.
//
// There are four pools:
//
//   - [BytePool]: slices of one capacity in a sync.Pool. The cheapest; the
//     garbage collector may empty it.
//   - [BufferPool]: the same for *bytes.Buffer.
//   - [ByteFixPool]: slices in a bounded channel. The collector leaves it
//     alone, so it keeps its slices through quiet times, and keeps their memory.
//   - [BudgetPool]: slices whose total, in use and idle, stays under a number
//     of bytes. When the budget is used up, the caller chooses to fail, to wait,
//     or to allocate outside the pool.
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
// BudgetPool tracks what it has lent and can refuse the second Put, unless the
// slice was lent again in between. The others cannot detect it. A build with
// the tag invariants fills slices with a pattern on Put and on Get. It panics on
// a second Put, with the same exception, and on a Get of a slice that was
// written after its Put.
//
// All pools may be used by many goroutines at once and must not be copied.
// Only their constructors make usable ones.
package bytepool
