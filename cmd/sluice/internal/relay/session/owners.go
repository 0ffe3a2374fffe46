package session

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/sluice-go/sluice/live"
)

// identity distinguishes a publisher that comes back from another one. It is the
// token where publishing needs one, otherwise the address and the key, which is
// the stream's name with its query.
type identity [sha256.Size]byte

// owners are the admitted publishers, by stream.
type owners struct {
	mu    sync.Mutex
	list  map[string]owner
	pulls map[string]*live.Publisher // of streams that are pulled from an origin
}

type owner struct {
	p  *live.Publisher
	id identity
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

// lost reports whether a stream is pulled from an origin that has sent nothing for so long. The lock is held.
func (o *owners) lost(hub *live.Hub, stream string, within time.Duration) bool {
	p, ok := o.pulls[stream]
	if !ok {
		return false
	}
	st, ok := hub.Stream(stream)
	return ok && st.Publisher() == p && st.Silent() >= within
}

// of returns the identity of a stream's publisher, nil when it is not known.
func (o *owners) of(stream string) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if one, ok := o.list[stream]; ok {
		return one.id[:]
	}
	return nil
}

// drop removes a publisher that has ended.
func (o *owners) drop(stream string, p *live.Publisher) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.list[stream].p == p {
		delete(o.list, stream)
	}
}

// standbys are the streams whose publishers stand by for one another, while they have
// some. All publishers of a stream on this server are one publication to the cluster.
type standbys struct {
	mu   sync.Mutex // before the cluster's lock, and before a stream's
	list map[string]*publication
}

type publication struct {
	epoch      uint64 // in the cluster
	publishers int
}
