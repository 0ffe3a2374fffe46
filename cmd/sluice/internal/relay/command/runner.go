package command

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/live"
)

// A Command is a program with its arguments and what is added to the environment.
type Command struct {
	Words []string // the first is the program; ${NAME} in the others is from the environment
	Env   []string // NAME=value
}

// Options configure a Runner. Zero times are the defaults.
type Options struct {
	// Of returns the command for a stream, without words for none. It is asked before
	// each start, and by Refresh.
	Of func(stream string) Command
	// Most returns how many may run at a time; others wait for one of them to end.
	Most             func() int
	Retry, RetryMost time.Duration // before a command that has ended begins again, at first and at most; 500 ms, 30 s
	Kill             time.Duration // from SIGTERM to SIGKILL; 1.5 s
	Hide             []string      // names of variables that the command does not get: secrets
	Logger           *slog.Logger
}

// A Runner runs the commands of a server's streams.
type Runner struct {
	options Options
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	starts  atomic.Int64

	mu     sync.Mutex
	closed bool
	on     map[*live.Stream]*run
	active int           // commands that run
	free   chan struct{} // closed and replaced when one of them has ended
}

// New returns a runner without streams.
func New(o Options) *Runner {
	o.Retry, o.RetryMost = cmp.Or(o.Retry, 500*time.Millisecond), cmp.Or(o.RetryMost, 30*time.Second)
	o.Kill = cmp.Or(o.Kill, 1500*time.Millisecond)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	r := &Runner{options: o, on: map[*live.Stream]*run{}, free: make(chan struct{})}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Begin runs the command of a stream, if it has one, until the stream ends. One that
// runs already goes on.
func (r *Runner) Begin(st *live.Stream) {
	words := r.options.Of(st.Name()).Words
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(words) == 0 || r.closed || r.on[st] != nil {
		return
	}
	c := &run{runner: r, stream: st, words: words, log: r.options.Logger.With("stream", st.Name(), "program", words[0])}
	var ctx context.Context
	ctx, c.stop = context.WithCancel(r.ctx)
	r.on[st] = c
	r.running.Go(func() {
		defer c.stop()
		c.again(ctx)
		r.mu.Lock()
		if r.on[st] == c {
			delete(r.on, st)
		}
		r.mu.Unlock()
	})
}

// Refresh asks again for the commands of streams: those that have another one now end,
// and the other one begins.
func (r *Runner) Refresh(streams []*live.Stream) {
	for _, st := range streams {
		words := r.options.Of(st.Name()).Words
		r.mu.Lock()
		if c := r.on[st]; c != nil && !slices.Equal(c.words, words) {
			c.stop()
			delete(r.on, st)
		}
		r.mu.Unlock()
		r.Begin(st)
	}
}

// Close ends all commands, and waits for that: no longer than it takes to kill them.
func (r *Runner) Close(context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.running.Wait()
	return nil
}

// enter waits for a place among the commands that run. It reports false when ctx is
// done first.
func (r *Runner) enter(ctx context.Context, waiting func()) bool {
	for first := true; ; first = false {
		r.mu.Lock()
		if r.active < r.options.Most() {
			r.active++
			r.mu.Unlock()
			return true
		}
		free := r.free
		r.mu.Unlock()
		if first {
			waiting()
		}
		select {
		case <-free:
		case <-ctx.Done():
			return false
		}
	}
}

func (r *Runner) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	close(r.free)
	r.free = make(chan struct{})
}

// Metrics are the figures of commands.
func (r *Runner) Metrics() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sluice_commands", Help: "Commands of on-publish that run."}, func() float64 {
			r.mu.Lock()
			defer r.mu.Unlock()
			return float64(r.active)
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sluice_commands_started_total", Help: "Commands of on-publish that were started, again and again when they ended."}, func() float64 {
			return float64(r.starts.Load())
		}),
	}
}
