package push

import (
	"slices"

	"github.com/sluice-go/sluice/live"
)

// State is what another process needs to go on with pushes. It has the keys of added
// targets in it, so it is for that process and for no log.
type State struct {
	Number uint64        `json:"number"` // of the newest target that was added
	Added  []AddedTarget `json:"added"`
	Pushes []Moved       `json:"pushes"`
}

// AddedTarget is a target that was added while the server runs, with its key.
type AddedTarget struct {
	ID       string `json:"id"`
	Pattern  string `json:"pattern"`
	Address  string `json:"address"`
	Enhanced bool   `json:"enhanced"`
}

// State returns what another process needs to go on.
func (p *Pusher) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := State{Number: p.number}
	for _, t := range p.added {
		st.Added = append(st.Added, AddedTarget{t.id, t.streams.String(), t.address, t.enhanced})
	}
	for _, q := range p.on {
		st.Pushes = append(st.Pushes, q.moved())
	}
	return st
}

// Resume goes on with what another process has pushed, before any stream begins. Targets
// of the settings are those of this process. With an error some target was left out.
func (p *Pusher) Resume(st State) (err error) {
	p.mu.Lock()
	p.number = max(p.number, st.Number)
	for _, a := range st.Added[:min(len(st.Added), mostAdded)] {
		// Variables of the environment were none: see the API.
		t, wrong := NewTarget(a.Pattern, a.Address, func(string) string { return "" })
		if wrong != nil {
			err = wrong
			continue
		}
		t.id, t.enhanced = a.ID, a.Enhanced
		p.added = append(p.added, t)
	}
	p.mu.Unlock()
	for _, s := range p.options.Streams() {
		targets := p.options.Targets(s.Name())
		p.mu.Lock()
		p.resume(s, slices.Concat(targets, p.added), st.Pushes)
		p.mu.Unlock()
	}
	return err
}

// resume begins those of the pushes that are of a stream, and whose targets there are
// still. The lock is held.
func (p *Pusher) resume(s *live.Stream, targets []*Target, pushes []Moved) {
	for _, t := range targets {
		sum := t.sum()
		at := slices.IndexFunc(pushes, func(m Moved) bool { return m.Stream == s.Name() && m.ID == t.id && slices.Equal(m.Sum, sum) })
		if at >= 0 {
			p.start(s, t, &pushes[at])
		}
	}
}
