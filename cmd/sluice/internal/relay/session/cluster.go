package session

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/sluice-go/sluice/live"
)

// ErrElsewhere: another server of the cluster publishes the stream.
var ErrElsewhere = errors.New("another server of the cluster publishes this stream")

// cluster is what a host asks of the other servers of its cluster.
type cluster interface {
	// Publish enters a publication on this server and returns its epoch. An error
	// matches ErrElsewhere.
	Publish(stream, publisher string) (epoch uint64, err error)
	// Remove removes it. Another one that has replaced it stays.
	Remove(stream string, epoch uint64)
	// Lost returns why this server's publication of a stream has to end, an error that
	// matches ErrElsewhere; nil when it has not.
	Lost(stream string) error
	// Stand enters a publication that may have to wait for another server's, and
	// reports whether it has to.
	Stand(stream, publisher string) (epoch uint64, held bool)
	// Held returns the epoch of this server's publication of a stream, and whether it
	// has to wait.
	Held(stream string) (epoch uint64, held, ok bool)
	// SetActive says whether viewers get this server's publication.
	SetActive(stream string, epoch uint64, on bool)
	// Yield puts this server's publication behind those of the others, if there are
	// any, and returns its new epoch.
	Yield(stream string, epoch uint64) (next uint64, ok bool)
	// Granted returns the server that a request for a stream is from.
	Granted(stream string, q url.Values) (node string, err error)
	// Pulled reports whether the stream's publisher here is a pull.
	Pulled(stream string) bool
}

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
