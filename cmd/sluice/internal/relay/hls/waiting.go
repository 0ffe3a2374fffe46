package hls

import (
	"context"
	"net/http"
	"net/netip"
	"time"
)

// Requests that wait, each of which costs a goroutine and a connection.
const (
	maxWaiting           = 50_000
	maxWaitingPerAddress = 10_000 // two for each viewer that one address may have
	// perWaiting is what each takes, in bytes, with what the kernel has for it.
	perWaiting = 16 << 10
)

// waitingLimits are how many requests may wait, in all and from one address.
type waitingLimits struct{ inAll, perAddress int }

// mostWaiting returns those for so many bytes of memory; 0 is no limit.
func mostWaiting(memory int64) waitingLimits {
	if memory == 0 {
		return waitingLimits{maxWaiting, maxWaitingPerAddress}
	}
	all := int(min(memory/perWaiting, maxWaiting))
	return waitingLimits{all, min(all/2, maxWaitingPerAddress)}
}

// wait counts a request that waits. The caller calls leave.
func (s *Server) wait(from netip.Addr) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[from] >= s.most.perAddress || s.inAll >= s.most.inAll {
		return nil, errBusy
	}
	s.waiting[from]++
	s.inAll++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inAll--
		if s.waiting[from]--; s.waiting[from] == 0 {
			delete(s.waiting, from)
		}
	}, nil
}

// within returns a context that ends with the request, the server, or a time.
func (s *Server) within(r *http.Request, most time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), most, errLate)
	stop := context.AfterFunc(s.Ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
