package web

import (
	"net/http"
	"net/netip"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// places are what so many requests may have at a time, in all and of one address: who takes
// what is sent slowly, several times, keeps no other client from its own.
type places struct {
	most, perAddress int

	mu  sync.Mutex
	all int
	of  map[netip.Prefix]int
}

// enter takes a place until leave is called. Without one ok is false, and it returns how many
// are taken, in all and by this address.
func (p *places) enter(r *http.Request) (leave func(), all, here int, ok bool) {
	// Clients without an address count as one.
	host := access.HostOf(session.Info{Address: r.RemoteAddr}.IP())
	p.mu.Lock()
	defer p.mu.Unlock()
	if all, here = p.all, p.of[host]; all >= p.most || here >= p.perAddress {
		return nil, all, here, false
	}
	if p.of == nil {
		p.of = map[netip.Prefix]int{}
	}
	p.all++
	p.of[host]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all--
		if p.of[host]--; p.of[host] == 0 {
			delete(p.of, host)
		}
	}, all, here, true
}
