package session

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/live"
)

// Publish makes a publisher of the stream without asking the gate: for sessions
// that were admitted, and for pulls.
func (h *Host) Publish(stream, from string, takeOver bool) (*live.Publisher, error) {
	return h.publishWith(stream, live.PublishOptions{Name: from, TakeOver: takeOver})
}

// PublishPull makes a publisher of a stream that is pulled from another server. One that
// is published here and stands by may take its place, and without a cluster any one when nothing has come for
// Times.Lost. The caller calls EndPull after closing it.
func (h *Host) PublishPull(stream, from string) (*live.Publisher, error) {
	if h.leaving.Load() >= NoSessions {
		return nil, ErrClosing
	}
	p, err := h.publishWith(stream, live.PublishOptions{Name: from, Yields: true})
	if err == nil && h.Cluster == nil {
		h.owners.mu.Lock()
		defer h.owners.mu.Unlock()
		if h.owners.pulls == nil {
			h.owners.pulls = map[string]*live.Publisher{}
		}
		h.owners.pulls[stream] = p
	}
	return p, err
}

// EndPull removes a publisher that PublishPull has made.
func (h *Host) EndPull(stream string, p *live.Publisher) {
	h.owners.mu.Lock()
	defer h.owners.mu.Unlock()
	if h.owners.pulls[stream] == p {
		delete(h.owners.pulls, stream)
	}
}

func (h *Host) publishWith(stream string, o live.PublishOptions) (*live.Publisher, error) {
	p, err := h.Hub.Publish(stream, o)
	if err != nil {
		return nil, hubError(stream, err)
	}
	h.begin(p.Stream())
	return p, nil
}

// hubError is the session's error for one of the hub.
func hubError(stream string, err error) error {
	switch {
	case errors.Is(err, live.ErrBusy):
		return fmt.Errorf("%w: %s", ErrBusy, stream)
	case errors.Is(err, live.ErrClosed):
		return ErrClosing
	}
	return err
}

// begin tells those who want each stream that a publisher has begun.
func (h *Host) begin(st *live.Stream) {
	for _, r := range []recorder{h.Recorder, h.Pusher, h.Commands} {
		if r != nil {
			r.Begin(st)
		}
	}
}

// identity returns a publisher's identity, and whether it is known.
func (h *Host) identity(info Info) (identity, bool) {
	r := info.Request(access.Publish)
	if h.Gate.Protected(access.Publish, info.Stream) {
		return sha256.Sum256([]byte("token\x00" + info.Query.Get("token"))), true
	}
	address := r.Address.Addr()
	return sha256.Sum256([]byte("address\x00" + address.Unmap().WithZone("").String() + "\x00" + info.Query.Encode())), address != netip.Addr{}
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
	} else if errors.Is(err, ErrBusy) && h.owners.lost(h.Hub, info.Stream, h.Times.Lost) {
		h.Log.Info("publisher takes the place of an origin that sends nothing", "stream", info.Stream, "protocol", info.Protocol, "address", info.Address)
		p, err = h.Publish(info.Stream, info.Address, true)
	}
	if err == nil {
		h.owners.add(info.Stream, p, id, known)
	}
	return p, err
}
