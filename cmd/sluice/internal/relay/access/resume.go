package access

import (
	"cmp"
	"fmt"
)

// Resume counts a session that another process has admitted and handed over, also above the
// limits, until release is called.
func (g *Gate) Resume(r Request) (release func()) {
	from := HostOf(r.Address.Addr())
	l := &g.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	stream := r.Stream
	if r.Action == Publish {
		l.countStream(stream, from)
		return once(func() { l.dropStream(stream, from) })
	}
	l.countViewer(stream, from)
	return once(func() { l.dropViewer(stream, from) })
}

// ResumeBans makes the bans of another process the ones that there are, under their ids. An
// error matches ErrBan, then what is wrong was left out, or ErrBansFile.
func (g *Gate) ResumeBans(list []Ban) (err error) {
	l := &g.bans
	l.mu.Lock()
	l.list = map[string]Ban{}
	for _, b := range list[:min(len(list), maxBans)] {
		n, ok := banNumber(b.ID)
		wrong := b.check()
		if !ok {
			wrong = fmt.Errorf("%w: the id is %.40q", ErrBan, b.ID)
		}
		if wrong != nil {
			err = cmp.Or(err, wrong)
			continue
		}
		l.list[b.ID], l.next = b, max(l.next, n)
	}
	l.mu.Unlock()
	return cmp.Or(l.save(), err)
}
