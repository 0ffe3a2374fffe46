// Package netsim makes a good network behave like a real one.
//
// For readers under test and under measurement, a [Reader] hands out at most
// the next drawn number of bytes per Read, from any io.Reader, at next to no
// cost; the four conditions are [Good], [Normal], [Poor] and [Worst]. A
// [Loop] is the source to put under it: it repeats bytes in memory, for as
// long as asked, and allocates nothing.
//
// For servers and clients, a [Conn] is a net.Conn over another that adds
// latency, jitter, a limit on bandwidth, fragments in both directions, and
// resets. [Pipe] makes two ends in memory, [TCPPipe] two over loopback.
//
// Everything that is random comes from a seed: the same seed and the same
// calls give the same behaviour. A Conn reads time from package time only, so
// that in a bubble of testing/synctest a Pipe runs on the bubble's clock, and
// a test of an hour of poor network takes milliseconds and is exact. (Loopback
// TCP goes through the kernel and does not work in a bubble.)
//
// Bytes are only passed through: what is handed to Read and Write is borrowed
// until the call returns.
//
// A Reader and a Loop are for one goroutine at a time; a [Table] may be
// shared, and a Conn is as safe for concurrent use as any net.Conn.
package netsim
