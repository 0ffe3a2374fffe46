package load

import (
	"context"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
)

// An engine moves the requests of a session's pipelines until it is over.
type engine interface {
	// run returns when all pipelines are done, when ctx is done, or when the session
	// cannot continue, with the reason.
	run(ctx context.Context, s *session, pipelines []*pipeline) (tally, []*recorder, error)
}

// chooseEngine returns the engine that a plan names, or the best for its targets.
func chooseEngine(p *Plan, targets []*wire.Target) (engine, error) {
	switch {
	case targets[0].Drive == wire.Calls:
		return calls{}, nil
	case targets[0].Drive == wire.Stream, p.Engine == "portable":
		return portable{}, nil
	}
	return raw(p)
}
