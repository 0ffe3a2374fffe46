// Package sluicetest helps to test code that is built on Sluice, as
// testing/iotest does for io.Reader: a leak check that names the line, readers
// that deliver the same bytes in every way that a network can, and seeds that
// a failing test prints.
//
//   - [NoLeaks] fails a test that leaves references behind.
//   - [Chunkings], [TimeoutChunkings] and [Splits] are readers of given bytes;
//     code that reads must make the same of all of them.
//   - [Seed] is the seed of a random test, SLUICE_SEED in the environment
//     repeats a run.
//
// Bytes given to a chunker are borrowed until its readers are used no more,
// and are not changed. A reader belongs to one goroutine at a time; so does an
// allocator under NoLeaks belong to one test.
package sluicetest
