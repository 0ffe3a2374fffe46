package access

import (
	"fmt"
	"net/netip"
	"sync"
)

// maxima are the limits. 0 is none.
type maxima struct {
	streams, viewers, viewersPerAddress int
}

// limits counts who is in.
type limits struct {
	mu        sync.Mutex
	max       maxima
	publishes map[string]int       // by stream: during a take-over there are two
	viewers   int                  // all of them
	addresses map[netip.Prefix]int // viewers by host
}

// change sets other limits. Those who are in stay, also beyond them.
func (l *limits) change(m maxima) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.max = m
}

// takeStream counts a publisher. A second one on a stream that is counted costs
// nothing, so that taking over works when all streams are in use.
func (l *limits) takeStream(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.publishes[name]
	if n == 0 && l.max.streams > 0 && len(l.publishes) >= l.max.streams {
		return limitError("streams", l.max.streams)
	}
	l.publishes[name] = n + 1
	return nil
}

func (l *limits) dropStream(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.publishes[name]--; l.publishes[name] == 0 {
		delete(l.publishes, name)
	}
}

func (l *limits) takeViewer(host netip.Prefix) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.addresses[host]
	switch {
	case l.max.viewers > 0 && l.viewers >= l.max.viewers:
		return limitError("viewers", l.max.viewers)
	case l.max.viewersPerAddress > 0 && n >= l.max.viewersPerAddress:
		return limitError("viewers from one address", l.max.viewersPerAddress)
	}
	l.viewers++
	l.addresses[host] = n + 1
	return nil
}

func (l *limits) dropViewer(host netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.viewers--
	if l.addresses[host]--; l.addresses[host] == 0 {
		delete(l.addresses, host)
	}
}

// host is what counts as one address: an IPv4 address, and of IPv6 the /64 that
// a single customer is given, within which addresses cost nothing.
func host(a netip.Addr) netip.Prefix {
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // of an address that is not known
	}
	return p
}

// full is the reason of a refusal by a limit.
type full string

func (f full) Error() string { return string(f) }

func limitError(what string, limit int) error {
	return full(fmt.Sprintf("no room for more %s (limit %d)", what, limit))
}
