package session

import (
	"crypto/sha256"
	"errors"
	"net/netip"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/live"
)

// identity tells a publisher that comes back from a stranger: the same token
// where publishing needs one, otherwise the same address and key, which is the
// stream's name with its query.
type identity [sha256.Size]byte

// identity returns who a publisher is, and whether that can be told.
func (h *Host) identity(info Info) (identity, bool) {
	r := info.request(access.Publish)
	if h.Gate.Protected(access.Publish) {
		return sha256.Sum256([]byte("token\x00" + info.Query.Get("token"))), true
	}
	address := r.Address.Addr()
	return sha256.Sum256([]byte("address\x00" + address.Unmap().WithZone("").String() + "\x00" + info.Query.Encode())), address != netip.Addr{}
}

// owners are the publishers that were admitted, by stream.
type owners struct {
	mu   sync.Mutex
	list map[string]owner
}

type owner struct {
	p  *live.Publisher
	id identity
}

// publish makes a publisher for somebody who was admitted. One who comes back
// while his old connection has not ended yet takes over from himself.
func (h *Host) publish(info Info, takeOver bool) (*live.Publisher, error) {
	id, known := h.identity(info)
	h.owners.mu.Lock()
	defer h.owners.mu.Unlock()
	p, err := h.Publish(info.Stream, info.Address, takeOver)
	if errors.Is(err, ErrBusy) && known && h.owners.has(h.Hub, info.Stream, id) {
		h.Log.Info("publisher comes back", "stream", info.Stream, "protocol", info.Protocol, "address", info.Address)
		p, err = h.Publish(info.Stream, info.Address, true)
	}
	if err == nil && known {
		if h.owners.list == nil {
			h.owners.list = map[string]owner{}
		}
		h.owners.list[info.Stream] = owner{p, id}
	}
	return p, err
}

// has reports whether a stream's publisher is that one. The lock is held.
func (o *owners) has(hub *live.Hub, stream string, id identity) bool {
	st, ok := hub.Stream(stream)
	if !ok {
		return false
	}
	now, ok := o.list[stream]
	return ok && now.id == id && st.Publisher() == now.p
}

// drop forgets a publisher that has ended.
func (o *owners) drop(stream string, p *live.Publisher) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.list[stream].p == p {
		delete(o.list, stream)
	}
}
