package archive

import (
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
)

const (
	// lookAgain is for how long the list of a directory is good for Since.
	lookAgain = 5 * time.Second
	// lookWithin is how long Since waits for the disk.
	lookWithin = time.Second
)

// A look is one at a directory that goes on.
type look struct {
	began time.Duration // as elapsed has it
	over  chan struct{} // closed then
}

// Since returns when the oldest file in MP4 of a stream began, by its name, as it was a few seconds ago at the
// latest, or, while the disk does not answer, when it did: the list of streams says so, which has to be there then.
func (a *Archive) Since(stream string) (time.Time, bool) {
	list := a.lately(record.Directory(stream))[stream]
	if len(list) == 0 {
		return time.Time{}, false
	}
	return list[0].began, true
}

// lately is directory without its error, and without waiting long.
func (a *Archive) lately(dir string) map[string][]film {
	a.mu.Lock()
	have, ok := a.listings[dir]
	if ok && a.now().Sub(have.at) < lookAgain {
		a.mu.Unlock()
		return have.films
	}
	now, within := a.elapsed(), lookWithin
	for _, other := range a.looks { // what has waited for one waits for no more
		within = min(within, lookWithin-(now-other.began))
	}
	mine, ok := a.looks[dir]
	if !ok {
		mine = look{now, make(chan struct{})}
		a.looks[dir] = mine
		go func() {
			_, _ = a.directory(dir)
			a.mu.Lock()
			delete(a.looks, dir)
			a.mu.Unlock()
			close(mine.over)
		}()
	}
	a.mu.Unlock()
	waiting.For(within, mine.over)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.listings[dir].films
}
