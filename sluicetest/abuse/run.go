package abuse

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say how a server is tried. The zero value has the defaults.
type Options struct {
	// Run chooses cases by their number or title. Default: all.
	Run *regexp.Regexp
	// Parallel is how many cases run at a time, besides those that wait for a time
	// limit of the server, which all do. Default 8.
	Parallel int
	// Within is how long the server may take for an answer. Default 5 s.
	Within time.Duration
	// Idle is how long a server may wait for a client that sends nothing more.
	// Default 40 s.
	Idle time.Duration
	// Publish is the address to which the healthy stream is published, when it
	// cannot be the one that is tried: rtmp://HOST/APP of the same server.
	Publish string
	// PID is the server's process on this machine: its memory and descriptors are
	// then looked at (Linux only). 0: they are not.
	PID int
	// Growth is how much more resident memory than before the process may have at
	// the end, in bytes. Default 64 MiB.
	Growth int64
	// Settle is how long descriptors and memory may take to come back. Default 30 s.
	Settle time.Duration
	// Own says that the server is one's own, wherever it is.
	Own bool
	// Progress is called after each case, by one goroutine at a time. May be nil.
	Progress func(Result)
}

func (o Options) filled() Options {
	o.Parallel = orDefault(o.Parallel, 8)
	o.Within = orDefault(o.Within, 5*time.Second)
	o.Idle = orDefault(o.Idle, 40*time.Second)
	o.Growth = orDefault(o.Growth, 64<<20)
	o.Settle = orDefault(o.Settle, 30*time.Second)
	return o
}

func orDefault[T int | int64 | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// CasesFor returns the cases for a server at address. ErrTarget: it names none.
func CasesFor(address string) ([]Case, error) {
	t, err := parseTarget(address)
	if err != nil {
		return nil, err
	}
	return t.cases(), nil
}

func (t target) cases() []Case {
	if t.http() {
		return slices.Concat(numbered("HTTP-R", requests()), numbered("HTTP-B", bodies()), numbered("HTTP-W", sockets()))
	}
	return slices.Concat(numbered("RTMP-H", handshakes()), numbered("RTMP-C", chunks()), numbered("RTMP-P", controls()),
		numbered("RTMP-A", values()), numbered("RTMP-O", commands()), numbered("RTMP-M", media()))
}

// Run tries the server at address, rtmp://HOST/APP or http://HOST/APP, until all cases
// are done or ctx is. An error says that it could not be tried: a bad address, no server,
// no healthy stream at the beginning. What the server does wrong is in the report.
func Run(ctx context.Context, address string, o Options) (*Report, error) {
	o = o.filled()
	play, err := parseTarget(address)
	if err != nil {
		return nil, err
	}
	publish := play
	if o.Publish != "" {
		if publish, err = parseTarget(o.Publish); err != nil {
			return nil, err
		}
	}
	if play, err = play.pinned(ctx, o.Own); err != nil {
		return nil, err
	}
	if publish, err = publish.pinned(ctx, o.Own); err != nil {
		return nil, err
	}
	r := &runner{Options: o, play: play, publish: publish, report: &Report{Target: address, Began: time.Now()}}
	before, resources := readResources(o.PID)
	if err := r.renew(ctx); err != nil {
		return nil, err
	}
	r.all(ctx, chosen(play.cases(), o.Run))
	r.mu.Lock()
	guard := r.guard
	r.mu.Unlock()
	if guard != nil {
		if err := guard.caughtUp(o.Within); err != nil && guard.broken() == nil {
			r.report.Problems = append(r.report.Problems, err.Error())
		}
		guard.end()
	}
	if resources == nil {
		r.report.compare(ctx, before, o)
	} else {
		r.report.NotLookedAt = append(r.report.NotLookedAt, "memory and descriptors of the server: "+resources.Error())
	}
	r.report.Took = time.Since(r.report.Began)
	if err := ctx.Err(); err != nil {
		r.report.NotLookedAt = append(r.report.NotLookedAt, "the rest: "+err.Error())
	}
	return r.report, nil
}

func chosen(cases []Case, by *regexp.Regexp) []Case {
	if by == nil {
		return cases
	}
	return slices.DeleteFunc(cases, func(c Case) bool { return !by.MatchString(c.ID) && !by.MatchString(c.Title) })
}

// A runner runs the cases against one server.
type runner struct {
	Options
	play, publish target

	mu      sync.Mutex
	report  *Report
	guard   *healthy // nil when no healthy stream could be begun any more
	running []string // numbers of the cases that are under way
	streams int
}

// renew begins a healthy stream.
func (r *runner) renew(ctx context.Context) error {
	r.streams++
	h, err := begin(ctx, r.publish, r.play, fmt.Sprintf("healthy%s%d", strings.ToLower(rand.Text()[:8]), r.streams))
	if err == nil {
		r.guard = h
	}
	return err
}

func (r *runner) all(ctx context.Context, cases []Case) {
	places := make(chan struct{}, r.Parallel)
	var running sync.WaitGroup
	for _, late := range []bool{true, false} {
		for _, c := range cases {
			if c.late != late {
				continue
			}
			if !late {
				select {
				case places <- struct{}{}:
				case <-ctx.Done():
				}
			}
			if ctx.Err() != nil {
				break
			}
			running.Go(func() {
				r.one(ctx, c)
				if !late {
					<-places
				}
			})
		}
	}
	running.Wait()
}

// one runs a case, and looks at the healthy stream behind it.
func (r *runner) one(ctx context.Context, c Case) {
	within := c.Within
	switch {
	case within != 0:
	case c.late:
		within = r.Idle
	default:
		within = r.Within
	}
	r.mu.Lock()
	guard := r.guard
	r.running = append(r.running, c.ID)
	r.streams++
	t := &try{target: r.play, within: within, stream: fmt.Sprintf("abuse%d", r.streams)}
	r.mu.Unlock()
	result := Result{Case: c}
	began := time.Now()
	if guard == nil {
		result.Note = "not run: there is no healthy stream any more"
	} else {
		// Sending, and waiting as a case may do, come on top.
		limit, cancel := context.WithTimeout(ctx, within+20*time.Second)
		t.ctx, t.guard = limit, guard.name
		seen := c.run(t)
		cancel()
		if t.conn != nil {
			_ = t.conn.Close()
		}
		result.Seen, result.Note = seen.String(), t.note
		result.Passed = c.Expect.met(seen)
	}
	result.Took = time.Since(began)
	var harm error
	if guard != nil && ctx.Err() == nil {
		harm = guard.caughtUp(r.Within)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if guard != nil && guard == r.guard {
		if err := harm; err != nil {
			r.report.Problems = append(r.report.Problems, fmt.Sprintf("%v, while these ran: %s", err, strings.Join(r.running, " ")))
			guard.end()
			if r.guard = nil; r.renew(ctx) != nil {
				r.report.Problems = append(r.report.Problems, "no healthy stream can be begun any more")
			}
		}
	}
	r.running = slices.DeleteFunc(r.running, func(id string) bool { return id == c.ID })
	r.report.Results = append(r.report.Results, result)
	if r.Progress != nil {
		r.Progress(result)
	}
}

// compare waits until the process has no more descriptors than before and little more
// memory, and says what has not come back.
func (r *Report) compare(ctx context.Context, before Resources, o Options) {
	ctx, cancel := context.WithTimeout(ctx, o.Settle)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			over = true
		}
		after, err := readResources(o.PID)
		if err != nil {
			r.Problems = append(r.Problems, fmt.Sprintf("the server's process %d: %v", o.PID, err))
			return
		}
		r.Before, r.After = &before, &after
		if after.Descriptors <= before.Descriptors && after.Resident <= before.Resident+o.Growth {
			return
		}
	}
	if r.After.Descriptors > before.Descriptors {
		r.Problems = append(r.Problems, fmt.Sprintf("%v after the end the server had %d descriptors, and %d before", o.Settle, r.After.Descriptors, before.Descriptors))
	}
	if r.After.Resident > before.Resident+o.Growth {
		r.Problems = append(r.Problems, fmt.Sprintf("%v after the end the server had %d bytes resident, and %d before; %d more are allowed", o.Settle, r.After.Resident, before.Resident, o.Growth))
	}
}
