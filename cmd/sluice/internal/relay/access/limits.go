package access

import (
	"fmt"
	"net/netip"
	"sync"
)

// maxima are the limits. 0 is none.
type maxima struct {
	streams, viewers, viewersPerAddress, streamsPerAddress int
}

// limits counts the admitted publishers and viewers.
type limits struct {
	mu         sync.Mutex
	max        maxima
	publishes  map[string]int       // by stream: during a take-over there are two
	viewers    int                  // all of them
	publishers map[publisher]int    // by host and stream
	hosts      map[netip.Prefix]int // streams that hosts publish
	addresses  map[netip.Prefix]int // viewers by host
	watched    map[string]int       // viewers by stream
}

// publisher is a host that publishes a stream.
type publisher struct {
	host   netip.Prefix
	stream string
}

// change sets new limits. Admitted sessions stay, even above the new limits.
func (l *limits) change(m maxima) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.max = m
}

// takeStream counts a publisher. A second publisher of a counted stream does not
// count against the limit, so that a take-over works when all streams are in use.
// host is the zero value for a publisher that is not a peer.
func (l *limits) takeStream(name string, host netip.Prefix) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.publishes[name]
	who := publisher{host, name}
	switch {
	case n == 0 && l.max.streams > 0 && len(l.publishes) >= l.max.streams:
		return limitError("streams", l.max.streams)
	case host.IsValid() && l.publishers[who] == 0 && l.max.streamsPerAddress > 0 && l.hosts[host] >= l.max.streamsPerAddress:
		return limitError("streams from one address", l.max.streamsPerAddress)
	}
	l.countStream(name, host)
	return nil
}

// countStream counts a publisher. The lock is held.
func (l *limits) countStream(name string, host netip.Prefix) {
	l.publishes[name]++
	if host.IsValid() {
		who := publisher{host, name}
		if l.publishers[who]++; l.publishers[who] == 1 {
			l.hosts[host]++
		}
	}
}

func (l *limits) dropStream(name string, host netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	who := publisher{host, name}
	if l.publishers[who] > 0 {
		if l.publishers[who]--; l.publishers[who] == 0 {
			delete(l.publishers, who)
			if l.hosts[host]--; l.hosts[host] == 0 {
				delete(l.hosts, host)
			}
		}
	}
	if l.publishes[name]--; l.publishes[name] == 0 {
		delete(l.publishes, name)
	}
}

// takeViewer counts a viewer. most is the limit of those of the stream.
func (l *limits) takeViewer(stream string, host netip.Prefix, most int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.addresses[host]
	switch {
	case l.max.viewers > 0 && l.viewers >= l.max.viewers:
		return limitError("viewers", l.max.viewers).yielding(false)
	case l.max.viewersPerAddress > 0 && n >= l.max.viewersPerAddress:
		return limitError("viewers from one address", l.max.viewersPerAddress)
	case most > 0 && l.watched[stream] >= most:
		return limitError("viewers of this stream", most).yielding(true)
	}
	l.countViewer(stream, host)
	return nil
}

// countViewer counts a viewer. The lock is held.
func (l *limits) countViewer(stream string, host netip.Prefix) {
	l.viewers++
	l.watched[stream]++
	l.addresses[host]++
}

func (l *limits) dropViewer(stream string, host netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.viewers--
	if l.watched[stream]--; l.watched[stream] == 0 {
		delete(l.watched, stream)
	}
	if l.addresses[host]--; l.addresses[host] == 0 {
		delete(l.addresses, host)
	}
}

// unknownHost is the one host that all peers with an invalid address count as.
var unknownHost = netip.PrefixFrom(netip.IPv6Unspecified(), 128)

// HostOf returns what counts as one address: an IPv4 address, or an IPv6 /64, since
// one customer gets a whole /64 and can use any address in it. Invalid ones count as one.
func HostOf(a netip.Addr) netip.Prefix {
	bits := 64
	if a = plain(a); a.Is4() {
		bits = 32
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return unknownHost
	}
	return p
}

// full is the reason why a limit refused.
type full struct {
	text   string
	yields bool // a viewer that takes nothing may give its place
	stream bool // one of the same stream
}

func (f full) Error() string { return f.text }

func (f full) yielding(stream bool) full {
	f.yields, f.stream = true, stream
	return f
}

func limitError(what string, limit int) full {
	return full{text: fmt.Sprintf("no room for more %s (limit %d)", what, limit)}
}
