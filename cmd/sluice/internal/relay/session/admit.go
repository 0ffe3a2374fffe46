package session

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/live"
)

// AdmitPublish asks the gate, and claims the stream. The caller calls Release at the end of
// the session.
func (h *Host) AdmitPublish(ctx context.Context, info Info) (*Claim, error) {
	if h.Closing() || h.leaving.Load() >= NoPublishers {
		return nil, ErrClosing
	}
	release, err := h.Gate.Admit(ctx, info.Request(access.Publish))
	if err != nil {
		return nil, err
	}
	info.Agent = shortAgent(info.Agent) // it goes into events
	x := &Claim{host: h, info: info, release: release}
	if h.replaces(info) {
		err = h.Room()
	} else {
		_, err = x.Begin()
	}
	if err != nil {
		release()
		return nil, err
	}
	return x, nil
}

// publishAdmitted makes a publisher for a session that the gate has admitted. The caller
// calls remove after closing it.
func (h *Host) publishAdmitted(info Info) (p *live.Publisher, remove func(), err error) {
	if err := h.Room(); err != nil {
		return nil, nil, err
	}
	p, leave, err := h.publishAs(info)
	if err != nil {
		return nil, nil, err
	}
	return p, func() {
		leave()
		h.owners.drop(info.Stream, p)
	}, nil
}

// admitWay refuses what this server has pushed and gets back, unless it comes directly and
// under a name of its own: in the place of another publisher it may be what it comes from.
// The lock is held.
func (h *Host) admitWay(info Info) error {
	back, direct := info.Via.Comes(h.ID)
	if !back {
		return nil
	}
	if st, there := h.Hub.Stream(info.Stream); direct && there {
		before, _ := h.passed.list[st].Comes(h.ID)
		direct = before && st.Publisher() == nil
	}
	if !direct {
		return fmt.Errorf("%w: %s", ErrLoop, info.Stream)
	}
	return nil
}

// publishAs makes a publisher, by what applies when there is another.
func (h *Host) publishAs(info Info) (p *live.Publisher, remove func(), err error) {
	h.passed.mu.Lock()
	defer h.passed.mu.Unlock()
	if err := h.admitWay(info); err != nil {
		return nil, nil, err
	}
	takeOver, remove := h.For(info.Stream).Takeover == config.TakeoverReplace, func() {}
	switch {
	case h.standsBy(info.Stream):
		p, remove, err = h.publishStandby(info)
	case h.Cluster != nil:
		p, remove, err = h.publishInCluster(info, takeOver)
	default:
		p, err = h.publish(info, takeOver)
	}
	if err == nil && p.Stream().Publisher() == p { // it does not stand by
		h.passed.note(p.Stream(), info.Via)
	}
	return p, remove, err
}

// AtOnce reports whether AdmitPlay has nothing to wait for, as a rule: the stream is there.
func (h *Host) AtOnce(stream string) bool {
	_, ok := h.Hub.Stream(stream)
	return ok && h.Puller == nil && !h.Gate.Waits()
}

// AdmitPlay asks the gate, waits for the stream as long as the options say, and
// returns it. The caller calls done once, when the viewer has ended, to release
// what was counted.
func (h *Host) AdmitPlay(ctx context.Context, info Info, o PlayOptions) (st *live.Stream, done func(), err error) {
	if h.Closing() || h.leaving.Load() >= NoSessions {
		return nil, nil, ErrClosing
	}
	if h.OfCluster(info) {
		return h.admitPeer(ctx, info)
	}
	if done, err = h.AdmitGroup(ctx, info); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(h.Ctx, cancel)
	defer stop()
	if h.Puller != nil {
		pulling, cancel := context.WithTimeout(ctx, max(o.Wait, h.Times.pull))
		err = h.Puller.Want(pulling, info)
		cancel()
		if err == nil {
			name, release := info.Stream, done
			done = func() {
				h.Puller.Release(name)
				release()
			}
		}
	}
	if err == nil {
		if st, err = h.find(ctx, info.Stream, o.Wait); err == nil {
			return st, done, nil
		}
	}
	done()
	if h.Closing() {
		err = ErrClosing
	}
	return nil, nil, err
}

// AdmitGroup asks the gate for a viewer of several streams under one name, or of what was
// recorded under it: there need not be a stream of that name. The caller calls done once, as with AdmitPlay.
func (h *Host) AdmitGroup(ctx context.Context, info Info) (done func(), err error) {
	if h.Closing() {
		return nil, ErrClosing
	}
	done, err = h.Gate.Admit(ctx, info.Request(access.Play))
	if err == nil {
		if err = h.RoomToWatch(); err != nil {
			done()
		}
	}
	return done, err
}

// find returns the stream, and waits for it at most the given time.
func (h *Host) find(ctx context.Context, name string, within time.Duration) (*live.Stream, error) {
	if st, ok := h.Hub.Stream(name); ok {
		return st, nil
	}
	if within > 0 {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		if st, err := h.Hub.Wait(ctx, name); err == nil {
			return st, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNotFound, name)
}

// Passed returns the servers through which a stream has come here by pushes.
func (h *Host) Passed(st *live.Stream) edge.Path {
	h.passed.mu.Lock()
	defer h.passed.mu.Unlock()
	return h.passed.list[st]
}
