package session

import (
	"crypto/sha256"
	"errors"
	"net/netip"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/live"
)

// identity distinguishes a publisher that comes back from another one. It is the
// token where publishing needs one, otherwise the address and the key, which is
// the stream's name with its query.
type identity [sha256.Size]byte

// identity returns a publisher's identity, and whether it is known.
func (h *Host) identity(info Info) (identity, bool) {
	r := info.Request(access.Publish)
	if h.Gate.Protected(access.Publish, info.Stream) {
		return sha256.Sum256([]byte("token\x00" + info.Query.Get("token"))), true
	}
	address := r.Address.Addr()
	return sha256.Sum256([]byte("address\x00" + address.Unmap().WithZone("").String() + "\x00" + info.Query.Encode())), address != netip.Addr{}
}

// owners are the admitted publishers, by stream.
type owners struct {
	mu   sync.Mutex
	list map[string]owner
}

type owner struct {
	p  *live.Publisher
	id identity
}

// publish makes a publisher for an admitted session. A publisher that comes back
// before its old connection has ended takes over from itself.
func (h *Host) publish(info Info, takeOver bool) (*live.Publisher, error) {
	id, known := h.identity(info)
	h.owners.mu.Lock()
	defer h.owners.mu.Unlock()
	p, err := h.Publish(info.Stream, info.Address, takeOver)
	if errors.Is(err, ErrBusy) && known && h.owners.has(h.Hub, info.Stream, id) {
		h.Log.Info("publisher comes back", "stream", info.Stream, "protocol", info.Protocol, "address", info.Address)
		p, err = h.Publish(info.Stream, info.Address, true)
	}
	if err == nil {
		h.owners.add(info.Stream, p, id, known)
	}
	return p, err
}

// add notes who publishes a stream, if that is known. The lock is held.
func (o *owners) add(stream string, p *live.Publisher, id identity, known bool) {
	if !known {
		return
	}
	if o.list == nil {
		o.list = map[string]owner{}
	}
	o.list[stream] = owner{p, id}
}

// has reports whether the stream's publisher has this identity. The lock is held.
func (o *owners) has(hub *live.Hub, stream string, id identity) bool {
	st, ok := hub.Stream(stream)
	if !ok {
		return false
	}
	now, ok := o.list[stream]
	return ok && now.id == id && st.Publisher() == now.p
}

// drop removes a publisher that has ended.
func (o *owners) drop(stream string, p *live.Publisher) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.list[stream].p == p {
		delete(o.list, stream)
	}
}
