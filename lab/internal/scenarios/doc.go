// Package scenarios holds the work that the lab measures: each scenario does
// the same work on the same bytes in several ways, of which one is ours and
// one is the best that is known without us.
//
// What a variant read is checked against the bytes that were sent, in every
// round and outside of the clock, so that a reader which is fast because it
// loses something stops the run instead of winning it.
//
// A Runner belongs to one goroutine at a time. Those that need more have
// goroutines of their own, which stand still between rounds and end in Close.
// Bytes that a reader lends are borrowed for one unit of work and never kept;
// what a scenario keeps, it has retained or copied, as the variant says.
package scenarios
