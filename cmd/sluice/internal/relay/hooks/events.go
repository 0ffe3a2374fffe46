package hooks

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
)

// EventOptions configure Events.
type EventOptions struct {
	URL    string
	Secret []byte // signs deliveries; empty: they are not signed
	// Dir is where events wait until they are delivered. Empty is a new directory
	// that Close removes: what was not delivered by then is lost.
	Dir  string
	Most int64 // bytes in Dir; 0 is DefaultSpool. Further events are counted as lost

	Timeout          time.Duration // of one delivery; 0 is 10 s
	Retry, RetryMost time.Duration // between attempts, at first and at most; 0 is 500 ms and 30 s

	Logger *slog.Logger // nil is slog.Default
}

// DefaultSpool is the size of the spool in bytes: some 200,000 events.
const DefaultSpool = 64 << 20

// Events delivers events to another server, at least once and in order. It is safe
// for concurrent use.
type Events struct {
	options EventOptions
	log     *slog.Logger
	client  *http.Client
	queue   queue
	spool   *spool
	metrics *eventMetrics

	spooled chan struct{} // has an element when the spool has grown
	ending  chan struct{} // closed by Close: nothing more will be added
	stop    context.CancelFunc
	running sync.WaitGroup // deliver
	writer  sync.WaitGroup // write
}

// NewEvents opens the spool and begins to deliver what is in it. An error matches
// ErrSpool, or is about the URL. A full disk is none: events are lost until it has room, are counted, and
// those that come later say how many.
func NewEvents(o EventOptions) (*Events, error) {
	if err := checkURL(o.URL); err != nil {
		return nil, err
	}
	o.Most = cmp.Or(o.Most, DefaultSpool)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Retry, o.RetryMost = cmp.Or(o.Retry, 500*time.Millisecond), cmp.Or(o.RetryMost, 30*time.Second)
	sp, err := openSpool(o.Dir)
	if err != nil && !full(err) {
		return nil, err
	}
	log := cmp.Or(o.Logger, slog.Default())
	if err != nil {
		log.Error("events are lost until the disk has room", "error", err)
	}
	return newEvents(o, sp, log), nil
}

func newEvents(o EventOptions, sp *spool, log *slog.Logger) *Events {
	metrics := newEventMetrics(sp)
	e := &Events{
		options: o, log: log, client: newClient(o.Timeout, 1), spool: sp, metrics: metrics,
		queue:   queue{log: log, prefix: newPrefix(), most: o.Most, spool: sp, metrics: metrics, grown: make(chan struct{}, 1)},
		spooled: make(chan struct{}, 1), ending: make(chan struct{}),
	}
	var ctx context.Context
	ctx, e.stop = context.WithCancel(context.Background())
	e.writer.Go(e.write)
	e.running.Go(func() { e.deliver(ctx) })
	return e
}

// Add adds an event, and fills in its ID and, if it is zero, its Time. It does not
// wait. After Close it does nothing.
func (e *Events) Add(v Event) { e.queue.add(v) }

// write brings events into the spool, until Close.
func (e *Events) write() {
	for {
		select {
		case <-e.queue.grown:
			e.flush()
		case <-e.ending:
			e.flush()
			return
		}
	}
}

func (e *Events) flush() {
	if e.queue.flush() {
		notify(e.spooled)
	}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close takes no more events, and delivers what there is until ctx is done or a
// delivery fails. What is left stays in the directory. It returns ctx's error when
// that has cut a delivery off. Later calls do nothing.
func (e *Events) Close(ctx context.Context) error {
	if !e.queue.close() {
		return nil
	}
	close(e.ending)
	e.writer.Wait()
	notify(e.spooled)
	over, err := waiting.Until(ctx, 0, e.running.Wait)
	e.stop()
	<-over
	e.client.CloseIdleConnections()
	_, left := e.spool.size()
	if wrong := e.spool.close(); wrong != nil {
		e.log.Error("the spool of events was not closed in order: some may be delivered again", "error", wrong)
	}
	if e.options.Dir != "" {
		if left > 0 {
			e.log.Info("events wait for the next start", "events", left, "directory", e.options.Dir)
		}
		return err
	}
	if left > 0 {
		e.log.Error("events are lost: there is no directory for them", "events", left)
	}
	return errors.Join(err, os.RemoveAll(e.spool.dir))
}
