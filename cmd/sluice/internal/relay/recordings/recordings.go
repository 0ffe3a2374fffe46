// Package recordings writes the streams of a server to files, by package record,
// and begins again when that fails.
package recordings

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
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

	began, failed, waits atomic.Int64

	mu     sync.Mutex
	closed bool
	on     map[*live.Stream]*recording
}

// gather is how long frames are collected for one write: a write for each frame would cost
// more than all else of a recording. What a killed server loses is that, as with MP4.
const gather = time.Second

// recording is that of one stream.
type recording struct {
	ctx  context.Context
	stop context.CancelCauseFunc

	continued atomic.Bool // another process records on
}

// errEnded is why a recording ends whose stream goes on.
var errEnded = errors.New("the stream is no longer to be recorded")

// New returns recordings into files, which Close closes.
func New(files *record.Recorder) *Recordings {
	r := &Recordings{files: files, Again: firstAgain, on: make(map[*live.Stream]*recording)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Begin implements session's recorder.
func (r *Recordings) Begin(st *live.Stream) { r.begin(st, true, nil) }

// Continue begins with a stream's newest key frame, as it is now: another process has
// recorded what came before that, and so leaves off: see Leave.
func (r *Recordings) Continue(st *live.Stream) {
	now, stop := context.WithCancel(context.Background())
	stop()
	// A later key frame is the newest one when the recording's goroutine runs.
	r.begin(st, false, func(tags *live.Reader) []byte {
		head, _, _ := tags.Next(now)
		return head
	})
}

// Leave says that another process records st on, from its newest key frame, when it ends.
func (r *Recordings) Leave(st *live.Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.on[st]; now != nil {
		now.continued.Store(true)
	}
}

// begin begins the recording of a stream. head, unless it is nil, reads what comes first.
func (r *Recordings) begin(st *live.Stream, fromStart bool, head func(*live.Reader) []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.on[st] != nil {
		return
	}
	tags, err := st.NewReader(live.ReaderOptions{FromStart: fromStart, Gather: gather})
	if err != nil {
		return // the stream is over already
	}
	now := &recording{}
	now.ctx, now.stop = context.WithCancelCause(r.ctx)
	src := &source{Reader: tags, continued: &now.continued}
	if head != nil {
		src.head = head(tags)
	}
	r.on[st] = now
	r.running.Go(func() {
		defer now.stop(nil)
		r.record(now.ctx, st, src)
		r.mu.Lock()
		if r.on[st] == now {
			delete(r.on, st)
		}
		r.mu.Unlock()
	})
}

// End ends the recording of a stream that goes on, if there is one.
func (r *Recordings) End(st *live.Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.on[st]; now != nil {
		now.stop(errEnded)
		delete(r.on, st)
	}
}

// Stats returns the figures of the files.
func (r *Recordings) Stats() record.Stats { return r.files.Stats() }

// record records a stream from its source, which it closes, until the stream ends.
// After an error, for example a full disk, it waits and begins another file when
// there is room.
func (r *Recordings) record(ctx context.Context, st *live.Stream, src *source) {
	for wait := r.Again; ; wait = min(2*wait, maxAgain) {
		began := time.Now()
		// The recorder has logged the error already.
		r.began.Add(1)
		err := r.files.Record(ctx, st.Name(), src)
		if err != nil {
			r.failed.Add(1)
		}
		src.Close()
		if time.Since(began) > maxAgain {
			wait = r.Again // it worked for a while
		}
		if err == nil || !r.forRoom(ctx, st, wait) {
			return
		}
		tags, err := st.NewReader(live.ReaderOptions{Gather: gather})
		if err != nil {
			return
		}
		src = &source{Reader: tags, continued: src.continued}
	}
}

// forRoom waits until a recording that has failed may begin again: for a while, and until there is room. It reports
// false when the stream has ended before.
func (r *Recordings) forRoom(ctx context.Context, st *live.Stream, wait time.Duration) bool {
	r.waits.Add(1)
	defer r.waits.Add(-1)
	for {
		if !waiting.ForEither(wait, ctx.Done(), st.Done()) {
			return false
		}
		if r.files.Room() {
			return true
		}
	}
}

// Times after which a recording that has failed begins again: at first, and at
// most.
const (
	firstAgain = 2 * time.Second
	maxAgain   = time.Minute
)

// Metrics are the figures of recordings, into all directories together.
func Metrics(list func() []*Recordings) []prometheus.Collector {
	sum := func(of func(*Recordings) int64) func() float64 {
		return func() float64 {
			n := int64(0)
			for _, r := range list() {
				n += of(r)
			}
			return float64(n)
		}
	}
	return []prometheus.Collector{
		// Without those that wait for a disk that is full, say: they are not recorded meanwhile.
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_recordings", Help: "Streams that are being recorded."}, sum(func(r *Recordings) int64 { return r.Stats().Active })),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_recordings_waiting", Help: "Streams whose recording has failed, and begins again when that can be."}, sum(func(r *Recordings) int64 { return r.waits.Load() })),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_recordings_total", Help: "Recordings that have begun."}, sum(func(r *Recordings) int64 { return r.began.Load() })),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_recording_failures_total", Help: "Recordings that ended with an error."}, sum(func(r *Recordings) int64 { return r.failed.Load() })),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_recording_bytes_total", Help: "Bytes that were written to recordings."}, sum(func(r *Recordings) int64 { return r.Stats().Bytes })),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_recording_dropped_frames_total", Help: "Tags that recordings lack because the disk was too slow."}, sum(func(r *Recordings) int64 { return r.Stats().Dropped })),
	}
}

// Close implements session's recorder. The rest of ended streams is written until ctx is
// done.
func (r *Recordings) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	over, err := waiting.Until(ctx, 0, r.running.Wait)
	r.stop()
	if err == nil {
		return r.files.Close()
	}
	waiting.For(time.Second, over) // they end at once now, unless the disk does not answer
	return err
}
