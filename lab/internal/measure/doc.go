// Package measure runs the scenarios of the lab side by side and records the
// results of every round.
//
// # How a scenario is measured
//
// All variants are opened, outside any clock, and then called with the same
// sequence of operation counts, so that they stand at the same place of the same
// bytes at all times. A first part, not recorded, finds out what an operation costs and fixes one
// number of operations for all variants and rounds: as many as make the
// baseline run for about a slice, fewer when all the variants together would not
// fit the scenario's share of the time.
//
// Then come the rounds. In each, every variant runs once, back to back, in an order that
// rotates and is drawn again from the seed, so that no variant always runs first or always after the
// same neighbour. Ratios are taken inside a round only, which is why the machine
// may become slower from one round to the next without harm. A round that was not finished is dropped.
//
// Before each recorded run the garbage collector runs, so that one variant's
// garbage is not billed to the next and all start with the same distance to their next
// collection; then a sixteenth of the operations is done unrecorded, which brings back what
// the collection took out of pools and what the neighbour pushed out of caches.
//
// Around the recorded run stand a monotonic clock, the CPU time of the process
// and, outside both, the allocator's counters. Collections that a runner
// asks for itself are not counted.
//
// A variant that consumed other bytes than the baseline, in number or in sum,
// makes the scenario invalid: it says so, with both sums, and has no figures.
//
// # Ownership and concurrency
//
// The package touches no payload bytes. Run may be called from one goroutine at a time, since it reads
// counters of the whole process.
package measure
