package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// clips counts those that are being sent. One address has a share: who takes an hour of
// video slowly, several times, keeps no other client from its own.
type clips struct {
	mu  sync.Mutex
	all int
	of  map[netip.Prefix]int
}

// enter counts a clip until leave is called, or answers that there is no room.
func (x *clips) enter(rw http.ResponseWriter, r *http.Request) (leave func(), ok bool) {
	// Clients without an address count as one.
	host := access.HostOf(session.Info{Address: r.RemoteAddr}.IP())
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all >= maxClips || x.of[host] >= maxClipsPerAddress {
		rw.Header().Set("Retry-After", "5")
		answerError(rw, http.StatusServiceUnavailable, fmt.Sprintf("%d clips are being sent, %d to this address; at most %d and %d at a time are", x.all, x.of[host], maxClips, maxClipsPerAddress))
		return nil, false
	}
	if x.of == nil {
		x.of = map[netip.Prefix]int{}
	}
	x.all++
	x.of[host]++
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.all--
		if x.of[host]--; x.of[host] == 0 {
			delete(x.of, host)
		}
	}, true
}
