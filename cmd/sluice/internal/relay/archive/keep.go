package archive

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"
)

// Limits say what is kept. A field that is 0 limits nothing.
type Limits struct {
	Age  time.Duration // since the end of a recording, as ages has it
	Size int64         // bytes of all of them together
}

// Sweep deletes what is beyond the limits, the oldest first, and returns how much that was.
func (a *Archive) Sweep(l Limits) (files int, bytes int64, err error) {
	if l.Age <= 0 && l.Size <= 0 {
		return 0, 0, nil
	}
	// Of all, however many: with more than a list may have the disk would fill up.
	list, err := a.walk("", math.MaxInt)
	if err != nil {
		return 0, 0, err
	}
	a.sweeping.Lock()
	defer a.sweeping.Unlock()
	passed := a.elapsed()
	a.ages.see(list, a.now(), passed)
	slices.SortStableFunc(list, func(x, y Recording) int {
		return cmp.Compare(a.ages.of(y.File, passed), a.ages.of(x.File, passed))
	})
	settled := passed-a.ages.first >= min(settling, l.Age)
	var sum int64
	for _, r := range list {
		sum += r.Size
	}
	var errs []error
	for _, r := range list {
		old := l.Age > 0 && settled && a.ages.of(r.File, passed) > l.Age
		if r.Writing || !old && (l.Size <= 0 || sum <= l.Size) {
			continue
		}
		if err := a.Delete(r.File); err != nil {
			if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrWriting) {
				errs = append(errs, err)
			}
			continue
		}
		sum -= r.Size
		files, bytes = files+1, bytes+r.Size
	}
	return files, bytes, errors.Join(errs...)
}
