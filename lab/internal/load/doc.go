// Package load puts load on a server and says what came of it, and whether that
// can be believed.
//
// A closed loop sends a request when there is room for one, so that a target that
// stalls is asked less while it does, and its latencies look better than what
// anybody who waits outside would see. An open loop sends at a rate whatever the
// target does and takes latency from the moment at which a request was to
// be sent; the time since it really was, the service time, stands beside it.
//
// The schedule, the requests under way and what is recorded of them are the same
// for all engines: one over epoll, a thread and no goroutine for each connection,
// and one over package net for every system.
//
// Payload bytes are the package's own: made from the seed, sent, and held against
// what comes back. Run may be called from any goroutine; everything else here belongs to
// one run.
package load
