package session

import "maps"

// Totals are figures of the server since it began. Except On they never decrease,
// also when sessions and streams end.
type Totals struct {
	On      map[Kind]int     // sessions at this moment
	Began   map[Kind]int64   // sessions
	Figures map[Kind]Figures // bytes, frames, jumps and dropped frames; active sessions included
	Refused map[Outcome]int64
	Ended   map[Outcome]int64
}

// Totals returns the figures at this moment.
func (c *Register) Totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := Totals{
		On: map[Kind]int{}, Began: maps.Clone(c.began), Figures: maps.Clone(c.past),
		Refused: maps.Clone(c.refused), Ended: maps.Clone(c.ended),
	}
	for _, s := range c.byID {
		kind := Kind{s.Role, s.Protocol}
		t.On[kind]++
		t.Figures[kind] = t.Figures[kind].plus(s.Figures())
	}
	return t
}

// Refused counts a session that was not admitted.
func (c *Register) Refused(r Role, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[Outcome{r, Code(err)}]++
}
