// Package load puts load on a server, and reports the results and whether they are
// valid.
//
// A closed loop sends a request when there is room for one. A target that stalls gets
// fewer requests meanwhile, and its latencies look better than what real users would
// see. An open loop sends at a rate, whatever the target does, and measures latency
// from the moment at which a request was due. The time since it was really sent, the
// service time, is reported as well.
//
// The schedule, the requests under way and what is recorded of them are the same
// for all engines: one over epoll, a thread and no goroutine for each connection,
// and one over package net for every system. The first is not built on package aio, whose
// waits end by Go's timers: up to a millisecond late, while what is due has to leave on time.
//
// Payload bytes are the package's own: made from the seed, sent, and compared with
// what comes back. Run may be called from any goroutine; everything else here belongs to
// one run.
package load
