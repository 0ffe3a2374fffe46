package session

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/sluice-go/sluice/live"
)

// grantKey is the key in the query of a request of another server.
const grantKey = "grant"

// FromNode reports whether a request says that it is from a server of the cluster.
func FromNode(q url.Values) bool { return q.Has(grantKey) }

// OfCluster reports whether a request is from a server of the cluster, once AdmitPlay
// has admitted it: before, that is what it says.
func (h *Host) OfCluster(info Info) bool { return h.Cluster != nil && info.Query.Has(grantKey) }

// admitPeer admits another server of the cluster, which answers for its viewers. It
// gets what is here, and starts no pull.
func (h *Host) admitPeer(ctx context.Context, info Info) (st *live.Stream, done func(), err error) {
	if _, err := h.Cluster.Granted(info.Stream, info.Query); err != nil {
		return nil, nil, err
	}
	st, ok := h.Hub.Stream(info.Stream)
	if !ok || st.Publisher() == nil {
		return nil, nil, fmt.Errorf("%w: %s", ErrNotFound, info.Stream)
	}
	if h.Puller == nil {
		return st, func() {}, nil
	}
	if err := h.Puller.Want(ctx, info); err != nil {
		return nil, nil, err
	}
	return st, func() { h.Puller.Release(info.Stream) }, nil
}

// publishInCluster is publish for a server of a cluster. A publisher takes over from
// a pull, and the other servers are asked only when this one would accept it.
func (h *Host) publishInCluster(info Info, takeOver bool) (p *live.Publisher, done func(), err error) {
	id, known := h.identity(info)
	h.owners.mu.Lock()
	defer h.owners.mu.Unlock()
	if st, ok := h.Hub.Stream(info.Stream); ok && st.Publisher() != nil && !h.Cluster.Pulled(info.Stream) {
		if !takeOver && !(known && h.owners.has(h.Hub, info.Stream, id)) {
			return nil, nil, fmt.Errorf("%w: %s", ErrBusy, info.Stream)
		}
	}
	epoch, err := h.Cluster.Publish(info.Stream, info.Address)
	if err != nil {
		return nil, nil, err
	}
	remove := func() { h.Cluster.Remove(info.Stream, epoch) }
	if p, err = h.publishWith(info.Stream, live.PublishOptions{Name: info.Address, TakeOver: true, Epoch: epoch}); err != nil {
		remove()
		return nil, nil, err
	}
	h.owners.add(info.Stream, p, id, known)
	return p, remove, nil
}

// StopPublishers ends the publishers of a stream for the reason, but not those whose
// agents are given.
func (h *Host) StopPublishers(stream string, reason error, except ...string) {
	for _, c := range h.Register.List() {
		if c.Role == RolePublisher && c.Stream == stream && !slices.Contains(except, c.Agent) {
			c.Stop(reason)
		}
	}
}
