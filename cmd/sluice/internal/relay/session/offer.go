package session

import (
	"context"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/live"
)

// AdmitOffer is AdmitPublish for a session whose connection is still to be made. When the
// session would replace a publisher, that one goes on until begin makes this one's publisher:
// many connections are never made. Otherwise the stream is this session's from now on, and
// begin returns its publisher.
//
// The caller calls begin at most once. It calls done once, after begin if that is called: it
// closes the publisher, and releases what the gate counted.
func (h *Host) AdmitOffer(ctx context.Context, info Info) (begin func() (*live.Publisher, error), done func(), err error) {
	release, err := h.mayPublish(ctx, info)
	if err != nil {
		return nil, nil, err
	}
	var p *live.Publisher
	var remove func()
	if !h.replaces(info) {
		p, remove, err = h.publishAdmitted(info)
	} else {
		err = h.Room()
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	begin = func() (*live.Publisher, error) {
		if p != nil {
			return p, nil
		}
		if h.Closing() || h.leaving.Load() >= NoPublishers {
			return nil, ErrClosing
		}
		var err error
		p, remove, err = h.publishAdmitted(info)
		return p, err
	}
	return begin, func() {
		if p != nil {
			p.Close()
			remove()
		}
		release()
	}, nil
}

// replaces reports whether a session that publishes a stream ends its publisher, if it has one.
func (h *Host) replaces(info Info) bool {
	switch h.For(info.Stream).Takeover {
	case config.TakeoverReplace:
		return true
	case config.TakeoverStandby:
		return false
	}
	id, known := h.identity(info)
	h.owners.mu.Lock()
	defer h.owners.mu.Unlock()
	return known && h.owners.has(h.Hub, info.Stream, id)
}
