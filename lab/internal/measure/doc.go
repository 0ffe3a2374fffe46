// Package measure runs the scenarios of the lab side by side and records the
// results of every round: docs/measuring.md says how, and why so.
//
// All variants are opened, outside any clock, and then called with the same
// sequence of operation counts, so that they stand at the same place of the same
// bytes at all times. A first part, not recorded, finds out what an operation costs and fixes one
// number of operations for all variants and rounds: as many as make the
// baseline run for about a slice, fewer when all the variants together would not
// fit the scenario's share of the time. A round that was not finished is dropped.
//
// Around a recorded run stand a monotonic clock, the CPU time of the process and, outside
// both, the allocator's counters.
//
// The package touches no payload bytes. Run may be called from one goroutine at a time, since it reads
// counters of the whole process.
package measure
