package push

import (
	"errors"
	"slices"
	"strconv"
)

// mostAdded is how many targets may be added while the server runs.
const mostAdded = 100

// ErrFull means that there are too many added targets.
var ErrFull = errors.New("push: there are 100 added targets, which is the limit")

// Added is a target that was added while the server runs. It outlives an upgrade, and no
// restart.
type Added struct {
	ID       string `json:"id"`
	Pattern  string `json:"pattern"`
	Target   string `json:"target"` // without the name there
	Enhanced bool   `json:"enhanced"`
}

func (t *Target) added() Added { return Added{t.id, t.streams.String(), t.String(), t.enhanced} }

// Add adds a target, which the streams that there are and later ones are pushed to, or returns
// the one that is the same: a request may be sent again. It returns ErrFull when there are too
// many. t is the pusher's from then on.
func (p *Pusher) Add(t *Target) (Added, error) {
	p.mu.Lock()
	if i := slices.IndexFunc(p.added, func(a *Target) bool { return slices.Equal(a.sum(), t.sum()) }); i >= 0 {
		defer p.mu.Unlock()
		return p.added[i].added(), nil
	}
	if len(p.added) >= mostAdded {
		p.mu.Unlock()
		return Added{}, ErrFull
	}
	p.number++
	t.id = "t" + strconv.FormatUint(p.number, 10)
	p.added = append(p.added, t)
	p.mu.Unlock()
	p.Refresh()
	return t.added(), nil
}

// Remove ends what is pushed to an added target. It reports false for an unknown id.
func (p *Pusher) Remove(id string) bool {
	p.mu.Lock()
	n := len(p.added)
	p.added = slices.DeleteFunc(p.added, func(t *Target) bool { return t.id == id })
	found := len(p.added) < n
	p.mu.Unlock()
	p.Refresh()
	return found
}

// Added returns the targets that were added, the oldest first.
func (p *Pusher) Added() []Added {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Added, 0, len(p.added))
	for _, t := range p.added {
		list = append(list, t.added())
	}
	return list
}

// Refresh asks for the targets of all streams again: pushes to those that are new
// begin, and to those that are no more end. The others are left alone.
func (p *Pusher) Refresh() {
	for _, st := range p.options.Streams() {
		p.mu.Lock()
		targets := p.options.Targets(st.Name())
		for k, q := range p.on {
			if k.stream == st && !slices.Contains(targets, q.target) && !slices.Contains(p.added, q.target) {
				q.stop()
				delete(p.on, k)
			}
		}
		p.begin(st, targets)
		p.mu.Unlock()
	}
}
