package relay

import (
	"context"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/live"
)

// recordings are the server's recorder: one goroutine for each stream that is
// written to files.
type recordings struct {
	files   *record.Recorder
	ctx     context.Context // done when there is no more time to finish
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	on     map[*live.Stream]bool
}

func newRecordings(files *record.Recorder) *recordings {
	r := &recordings{files: files, on: make(map[*live.Stream]bool)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Begin implements recorder. A recording that has failed begins again when
// somebody begins to publish again.
func (r *recordings) Begin(st *live.Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.on[st] {
		return
	}
	tags, err := st.NewReader(live.ReaderOptions{FromStart: true})
	if err != nil {
		return // the stream is over already
	}
	r.on[st] = true
	r.running.Go(func() {
		defer tags.Close()
		// The recorder has logged an error, and there is no one else to tell.
		_ = r.files.Record(r.ctx, st.Name(), tags)
		r.mu.Lock()
		delete(r.on, st)
		r.mu.Unlock()
	})
}

// Close implements recorder. What is left of streams that have ended is
// written for as long as ctx allows.
func (r *recordings) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	over := make(chan struct{})
	go func() {
		r.running.Wait()
		close(over)
	}()
	var err error
	select {
	case <-over:
	case <-ctx.Done():
		err = ctx.Err()
	}
	r.stop()
	if err == nil {
		err = r.files.Close()
	}
	return err
}
