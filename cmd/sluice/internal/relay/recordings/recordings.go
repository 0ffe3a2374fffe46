// Package recordings writes the streams of a server to files, by package record,
// and begins again when that fails.
package recordings

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/live"
)

// Recordings are the server's recorder: one goroutine for each stream that is
// written to files. It is safe for concurrent use.
type Recordings struct {
	files   *record.Recorder
	ctx     context.Context // done when the time to finish is over
	stop    context.CancelFunc
	running sync.WaitGroup
	Again   time.Duration // until a recording that has failed begins again; set it before the first

	began, failed atomic.Int64

	mu     sync.Mutex
	closed bool
	on     map[*live.Stream]bool
}

// New returns recordings into files, which Close closes.
func New(files *record.Recorder) *Recordings {
	r := &Recordings{files: files, Again: firstAgain, on: make(map[*live.Stream]bool)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Begin implements session's recorder.
func (r *Recordings) Begin(st *live.Stream) {
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
		r.record(st, tags)
		r.mu.Lock()
		delete(r.on, st)
		r.mu.Unlock()
	})
}

// Stats returns the figures of the files.
func (r *Recordings) Stats() record.Stats { return r.files.Stats() }

// record records a stream from tags, which it closes, until the stream ends.
// After an error, for example a full disk, it waits and begins another file when
// there is room.
func (r *Recordings) record(st *live.Stream, tags *live.Reader) {
	for wait := r.Again; ; wait = min(2*wait, maxAgain) {
		began := time.Now()
		// The recorder has logged the error already.
		r.began.Add(1)
		err := r.files.Record(r.ctx, st.Name(), tags)
		if err != nil {
			r.failed.Add(1)
		}
		tags.Close()
		if time.Since(began) > maxAgain {
			wait = r.Again // it worked for a while
		}
		if err == nil || !r.pause(st, wait) {
			return
		}
		for !r.files.Room() {
			if !r.pause(st, wait) {
				return
			}
		}
		if tags, err = st.NewReader(live.ReaderOptions{}); err != nil {
			return
		}
	}
}

// pause waits, and reports whether recording should go on.
func (r *Recordings) pause(st *live.Stream, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-st.Done():
	case <-r.ctx.Done():
	}
	return false
}

// Times after which a recording that has failed begins again: at first, and at
// most.
const (
	firstAgain = 2 * time.Second
	maxAgain   = time.Minute
)

// Metrics are the figures of recordings.
func (r *Recordings) Metrics() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_recordings", Help: "Streams that are being recorded."}, func() float64 {
			r.mu.Lock()
			defer r.mu.Unlock()
			return float64(len(r.on))
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_recordings_total", Help: "Recordings that have begun."}, func() float64 { return float64(r.began.Load()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_recording_failures_total", Help: "Recordings that ended with an error."}, func() float64 { return float64(r.failed.Load()) }),
	}
}

// Close implements session's recorder. The rest of ended streams is written until ctx is
// done.
func (r *Recordings) Close(ctx context.Context) error {
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
