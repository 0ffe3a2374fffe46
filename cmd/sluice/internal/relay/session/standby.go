package session

import (
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/live"
)

// standsBy reports whether the publishers of a stream stand by for one another.
func (h *Host) standsBy(stream string) bool {
	return h.For(stream).Takeover == config.TakeoverStandby
}

// publishStandby makes a publisher that waits when there is another, here or on another
// server of the cluster.
func (h *Host) publishStandby(info Info) (p *live.Publisher, done func(), err error) {
	s := &h.standbys
	s.mu.Lock()
	defer s.mu.Unlock()
	one, held := s.list[info.Stream], false
	if one == nil {
		one = &publication{}
		if h.Cluster != nil {
			one.epoch, held = h.Cluster.Stand(info.Stream, info.Address)
		}
	} else if h.Cluster != nil {
		_, held, _ = h.Cluster.Held(info.Stream)
	}
	p, err = h.Hub.Publish(info.Stream, live.PublishOptions{
		Name: info.Address, Standby: true, Held: held, Epoch: one.epoch, Active: func(on bool) { h.activeChanged(info, on) },
	})
	if err != nil {
		if one.publishers == 0 && h.Cluster != nil {
			h.Cluster.Remove(info.Stream, one.epoch)
		}
		return nil, nil, hubError(info.Stream, err)
	}
	if one.publishers++; s.list == nil {
		s.list = map[string]*publication{}
	}
	s.list[info.Stream] = one
	if p.Stream().Publisher() == p {
		h.begin(p.Stream())
	} else {
		h.Log.Info("publisher stands by", "stream", info.Stream, "protocol", info.Protocol, "address", info.Address)
	}
	h.reportActive(info.Stream)
	return p, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if one.publishers--; one.publishers > 0 {
			return
		}
		delete(s.list, info.Stream)
		if h.Cluster != nil {
			h.Cluster.Remove(info.Stream, one.epoch)
		}
	}, nil
}

// activeChanged is live.PublishOptions.Active.
func (h *Host) activeChanged(info Info, on bool) {
	if on {
		h.Log.Info("standby took over", "stream", info.Stream, "protocol", info.Protocol, "address", info.Address)
		if st, ok := h.Hub.Stream(info.Stream); ok {
			h.begin(st)
		}
		if h.TookOver != nil {
			h.TookOver(info)
		}
	} else {
		h.Log.Info("publisher stands by now: another has its place", "stream", info.Stream, "protocol", info.Protocol, "address", info.Address)
	}
	h.standbys.mu.Lock()
	defer h.standbys.mu.Unlock()
	h.reportActive(info.Stream)
}

// reportActive reports to the cluster whether one of a stream's publishers here is the one
// that viewers get. The lock is held, so that the latest state is reported last.
func (h *Host) reportActive(stream string) {
	one := h.standbys.list[stream]
	st, ok := h.Hub.Stream(stream)
	if h.Cluster == nil || one == nil || !ok {
		return
	}
	p := st.Publisher()
	h.Cluster.SetActive(stream, one.epoch, p != nil && p.Standby())
}

// Hold makes a stream's publishers here wait, or not, as the cluster has it now.
func (h *Host) Hold(stream string) {
	s := &h.standbys
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.list[stream]
	epoch, held, ok := h.Cluster.Held(stream)
	st, there := h.Hub.Stream(stream)
	if one == nil || !ok || !there || epoch != one.epoch {
		return
	}
	// Hold calls activeChanged, which locks.
	s.mu.Unlock()
	st.Hold(held)
	s.mu.Lock()
}

// YieldSilent lets other servers take the place of this one's publishers that have sent
// nothing for so long that one of them should have.
func (h *Host) YieldSilent() {
	s := &h.standbys
	s.mu.Lock()
	defer s.mu.Unlock()
	for stream, one := range s.list {
		longest := h.For(stream).TakeoverAfter
		st, ok := h.Hub.Stream(stream)
		if !ok || longest == 0 || st.Silent() < longest {
			continue
		}
		if epoch, ok := h.Cluster.Yield(stream, one.epoch); ok {
			h.Log.Warn("the publisher is silent: a standby of another server may take its place", "stream", stream)
			one.epoch = epoch
			st.Renumber(epoch)
		}
	}
}
