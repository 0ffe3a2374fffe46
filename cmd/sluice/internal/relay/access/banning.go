package access

import (
	"fmt"
	"time"
)

// Ban refuses the requests that b describes, from now on for the duration within.
// It returns the ban with its id, or an error that matches ErrBan. With an error
// that matches ErrBansFile the ban holds, but it was not saved.
func (g *Gate) Ban(b Ban, within time.Duration) (Ban, error) {
	if within < time.Second || within > MaxBan {
		return Ban{}, fmt.Errorf("%w: %v is not within 1s to %v", ErrBan, within, MaxBan)
	}
	if err := b.check(); err != nil {
		return Ban{}, err
	}
	b, err := g.bans.add(b, within)
	if err != nil {
		return Ban{}, err
	}
	return b, g.bans.save()
}

// Bans returns the active bans, the oldest first.
func (g *Gate) Bans() []Ban {
	g.bans.mu.Lock()
	defer g.bans.mu.Unlock()
	g.bans.expire(g.bans.now())
	return g.bans.sorted()
}

// Lift ends a ban and reports whether the id existed. With an error, which matches
// ErrBansFile, the ban has ended, but that was not saved.
func (g *Gate) Lift(id string) (bool, error) {
	g.bans.mu.Lock()
	b, ok := g.bans.list[id]
	if ok && g.bans.at != "" {
		g.bans.lift(id, b.Until)
	}
	delete(g.bans.list, id)
	g.bans.mu.Unlock()
	if !ok {
		return false, nil
	}
	return true, g.bans.save()
}
