package record

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/contain"
)

// Record writes src into files that are named after the stream, until src ends
// for any reason, ctx is done or a write fails. Only a failed write is an error.
// It waits for the disk without a time limit.
func (r *Recorder) Record(ctx context.Context, stream string, src Source) error {
	r.active.Add(1)
	defer r.active.Add(-1)
	log := r.log.With("stream", stream)
	// A fault in what a stream says ends the file, too: movie.run and take.run contain those. One at the end of a file
	// leaves it as a server that is killed does.
	err := contain.Run(log, func() error {
		if r.options.Format == MP4 {
			return (&movie{recorder: r, stream: stream, log: log}).run(ctx, src)
		}
		return (&take{recorder: r, stream: stream, log: log}).run(ctx, src)
	})
	if err != nil {
		r.failed.Add(1)
		log.Error("recording failed; the stream goes on without it", "error", err)
		return fmt.Errorf("record: %s: %w", stream, err)
	}
	return nil
}
