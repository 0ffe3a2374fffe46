package hooks

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
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
	prefix  string // of ids
	spool   *spool
	metrics *eventMetrics

	mu      sync.Mutex
	waiting []byte // lines that are not in the spool yet
	lines   int
	writing int    // bytes that are being written to the spool
	number  uint64 // of the newest event
	missed  int64  // events for which there was no room, since the latest Lost
	said    losses // by events of waiting
	failing bool   // the disk has not taken the latest
	closed  bool

	written chan struct{} // has an element when waiting has grown
	spooled chan struct{} // has one when the spool has grown
	ending  chan struct{} // closed by Close: nothing more will be added
	stop    context.CancelFunc
	running sync.WaitGroup // deliver
	writer  sync.WaitGroup // write
}

// NewEvents opens the spool and begins to deliver what is in it. An error matches
// ErrSpool, or is about the URL.
func NewEvents(o EventOptions) (*Events, error) {
	if err := checkURL(o.URL); err != nil {
		return nil, err
	}
	o.Most = cmp.Or(o.Most, DefaultSpool)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Retry, o.RetryMost = cmp.Or(o.Retry, 500*time.Millisecond), cmp.Or(o.RetryMost, 30*time.Second)
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "sluice-events-"); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSpool, err)
		}
	}
	sp, err := openSpool(dir)
	if err != nil {
		return nil, err
	}
	e := &Events{
		options: o, log: cmp.Or(o.Logger, slog.Default()), client: newClient(o.Timeout, 1), prefix: newPrefix(), spool: sp,
		written: make(chan struct{}, 1), spooled: make(chan struct{}, 1), ending: make(chan struct{}),
	}
	e.metrics = newEventMetrics(e)
	var ctx context.Context
	ctx, e.stop = context.WithCancel(context.Background())
	e.writer.Go(e.write)
	e.running.Go(func() { e.deliver(ctx) })
	return e, nil
}

// newPrefix is unique to this process.
func newPrefix() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:]) + "-"
}

// Add adds an event, and fills in its ID and, if it is zero, its Time. It does not
// wait. After Close it does nothing.
func (e *Events) Add(v Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.metrics.events.WithLabelValues(v.Event).Inc()
	if v.Time.IsZero() {
		v.Time = time.Now()
	}
	held, _ := e.spool.size()
	room := e.options.Most - held - int64(len(e.waiting)+e.writing)
	if e.missed > 0 && room >= 2*maxShort {
		e.append(Event{Event: Lost, Time: v.Time, Count: e.missed})
		e.said.lines++
		e.said.events += e.missed
		e.missed = 0
	}
	if e.missed > 0 || room < maxShort {
		if e.missed++; e.missed == 1 {
			e.log.Error("the spool of events is full: events are lost", "limit", e.options.Most)
		}
		e.metrics.lost.Inc()
		return
	}
	e.append(v)
}

// maxShort is more than the bytes of an event whose texts have the usual limits.
const maxShort = 4 << 10

// append adds a line. The lock is held.
func (e *Events) append(v Event) {
	e.number++
	v.ID, v.Time = e.prefix+strconv.FormatUint(e.number, 10), v.Time.UTC()
	v.Reason = v.Reason[:min(len(v.Reason), 500)]
	line, err := json.Marshal(v)
	if err != nil || len(line) > maxLine {
		panic(fmt.Sprintf("hooks: an event of %d bytes: %v", len(line), err)) // texts that are bounded
	}
	e.waiting = append(append(e.waiting, line...), '\n')
	e.lines++
	notify(e.written)
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// losses is what Lost events say, and how many of them do.
type losses struct{ lines, events int64 }

// write brings events into the spool, until Close.
func (e *Events) write() {
	for {
		select {
		case <-e.written:
			e.flush()
		case <-e.ending:
			e.flush()
			return
		}
	}
}

func (e *Events) flush() {
	e.mu.Lock()
	lines, n, said := e.waiting, e.lines, e.said
	e.waiting, e.lines, e.said, e.writing = nil, 0, losses{}, len(lines)
	e.mu.Unlock()
	if n == 0 {
		return
	}
	err := e.spool.append(lines, n)
	lost := int64(n) - said.lines
	e.mu.Lock()
	e.writing = 0
	before := e.failing
	if e.failing = err != nil; err != nil {
		e.missed += lost + said.events
	}
	e.mu.Unlock()
	if err != nil {
		e.metrics.lost.Add(float64(lost))
		if !before {
			e.log.Error("events are lost", "error", err)
		}
		return
	}
	if before {
		e.log.Info("events are kept again")
	}
	notify(e.spooled)
}

// Close takes no more events, and delivers what there is until ctx is done or a
// delivery fails. What is left stays in the directory. It returns ctx's error when
// that has cut a delivery off. Later calls do nothing.
func (e *Events) Close(ctx context.Context) error {
	e.mu.Lock()
	again := e.closed
	e.closed = true
	e.mu.Unlock()
	if again {
		return nil
	}
	close(e.ending)
	e.writer.Wait()
	notify(e.spooled)
	over := make(chan struct{})
	go func() {
		defer close(over)
		e.running.Wait()
	}()
	var err error
	select {
	case <-over:
	case <-ctx.Done():
		err = ctx.Err()
	}
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
