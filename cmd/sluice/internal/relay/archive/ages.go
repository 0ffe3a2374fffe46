package archive

import "time"

// settling is how long after the first sweep nothing is deleted for its age: a machine that
// starts with a wrong clock has it set by then.
const settling = 10 * time.Minute

// ages say how long ago files ended, by the time that passes while they are watched: a clock
// that is set years ahead makes no file old. Only what was there at the first look is as old
// as its date says, by the clock as it was then.
//
// A clock that turns out to be earlier can only make files younger, and a date in the future says nothing.
type ages struct {
	seen  map[string]seen
	first time.Duration // when see was called first
}

// seen is what was found at the first look at a file as it is, without what was written later.
type seen struct {
	changed time.Time
	ended   time.Duration // when it ended, in time that has passed; before the first look it is negative
}

// see takes note of what there is, at a time by the clock and by what has passed.
func (g *ages) see(list []Recording, now time.Time, passed time.Duration) {
	before := g.seen
	if before == nil {
		g.first = passed
	}
	g.seen = make(map[string]seen, len(list))
	for _, r := range list {
		s, ok := before[r.File]
		dated := max(now.Sub(r.changed), 0)
		switch {
		case before == nil && !r.Writing:
			s = seen{r.changed, passed - dated}
		case !ok || r.Writing || !s.changed.Equal(r.changed):
			s = seen{r.changed, passed}
		case !r.changed.After(now):
			s.ended = max(s.ended, passed-dated)
		}
		g.seen[r.File] = s
	}
}

// of returns the age of a file that was seen.
func (g *ages) of(file string, passed time.Duration) time.Duration {
	return passed - g.seen[file].ended
}
