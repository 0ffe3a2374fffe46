package wire

import (
	"context"
	"fmt"
	"time"
)

// Prepare makes what requests need, and returns what removes it again: the file, if
// it does not exist. It is for targets whose Drive is Calls.
func (t *Target) Prepare(ctx context.Context) (remove func() error, err error) {
	if !t.Is("file") {
		return func() error { return nil }, nil
	}
	t.storage = &storage{path: t.addr, options: *t.file}
	if err := t.storage.prepare(ctx); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return t.storage.remove, nil
}

// Caller makes a connection for calls, each of which may take as long as limit. The
// Target's Drive is Calls.
func (t *Target) Caller(ctx context.Context, limit time.Duration) (Caller, error) {
	if t.storage != nil {
		return t.storage.open()
	}
	return newH2(ctx, t, limit)
}
