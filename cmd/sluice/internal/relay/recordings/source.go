package recordings

import (
	"context"
	"sync/atomic"

	"github.com/sluice-go/sluice/live"
)

// source is what a recording reads.
type source struct {
	*live.Reader
	head      []byte // tags that were read before; borrowed from Reader
	continued *atomic.Bool
}

// Next implements record.Source.
func (s *source) Next(ctx context.Context) (tags []byte, dropped int, err error) {
	if s.head != nil {
		tags, s.head = s.head, nil
		return tags, 0, nil
	}
	return s.Reader.Next(ctx)
}

// Continued implements record.Continued.
func (s *source) Continued() bool { return s.continued.Load() }
