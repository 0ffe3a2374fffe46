// Package gobench lets go test -bench run the scenarios that lab bench
// runs: one implementation, two ways to call it.
//
// A runner is opened once for all the calls that the testing package makes to find
// its number of operations, outside the clock, and is closed at the end. Unlike
// lab bench, go test runs the variants one after the other, so that a
// machine that drifts puts its drift into the comparison; use -count and benchstat.
//
// The package touches no payload bytes. Bench is called from the goroutine of
// the benchmark.
package gobench
