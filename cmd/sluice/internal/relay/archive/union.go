package archive

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"
)

// A Union is several archives, those that there are when it is asked.
type Union func() []*Archive

// List returns the newest recordings, as Archive's does.
func (u Union) List(stream string, most int) (list []Recording, all int, err error) {
	for _, a := range u() {
		some, n, err := a.List(stream, most)
		if err != nil {
			return nil, 0, err
		}
		list, all = append(list, some...), all+n
	}
	slices.SortStableFunc(list, func(x, y Recording) int { return y.Begin.Compare(x.Begin) })
	return list[:min(most, len(list))], all, nil
}

// Open opens a recording of the first archive that has it.
func (u Union) Open(file string) (*os.File, Recording, error) {
	err := ErrNotFound
	for _, a := range u() {
		f, r, e := a.Open(file)
		if e == nil {
			return f, r, nil
		}
		err = e
	}
	return nil, Recording{}, err
}

// Delete deletes a recording of the first archive that has it.
func (u Union) Delete(file string) error {
	err := ErrNotFound
	for _, a := range u() {
		if err = a.Delete(file); !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return err
}

// Clip returns the clip of the first archive that has something of it.
func (u Union) Clip(stream string, from, to time.Time) (*Clip, error) {
	err := ErrNotFound
	for _, a := range u() {
		c, e := a.Clip(stream, from, to)
		if e == nil {
			return c, nil
		}
		err = e
	}
	return nil, err
}

// Keep deletes what is beyond the limits in each archive, every interval until ctx is
// done: the oldest first, and never what is being written.
func (u Union) Keep(ctx context.Context, every time.Duration, limits func() Limits, log *slog.Logger) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		for _, a := range u() {
			deleted, bytes, err := a.Sweep(limits())
			if deleted > 0 {
				log.Info("recordings were deleted", "files", deleted, "bytes", bytes)
			}
			if err != nil {
				log.Error("recordings beyond the limits cannot be deleted", "error", err)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
