// Package load puts load on a server, and reports the results and whether they are valid.
//
// The schedule, the requests under way and what is recorded of them are the same for all engines: one over epoll, a
// thread and no goroutine for each connection, and one over package net for every system. The first is not built on
// package aio, whose waits end by Go's timers: up to a millisecond late, while what is due has to leave on time.
//
// Payload bytes are the package's own: made from the seed, sent, and compared with what comes back. Run may be called
// from any goroutine; everything else here belongs to one run.
package load
