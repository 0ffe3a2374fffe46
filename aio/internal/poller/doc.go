// Package poller is the seam to what a system tells readiness with: epoll(7) or
// kqueue(2), behind the same six functions, and one goroutine's sleep until
// something is ready. It knows descriptors and no connections.
package poller
