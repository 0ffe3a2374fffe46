package evidence

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

const (
	// startIn is how long a child may take to open its workload and warm it up.
	startIn = time.Minute
	// endIn is how long it may take to end when its time is over: a round under
	// strace can be long.
	endIn = time.Minute
)

// A worker is a child process that runs the workload.
type worker struct {
	*child.Process
	dir string
}

// startWorker starts the child and waits until it has warmed up. It ends with
// ctx.
func startWorker(ctx context.Context, o Options, w Workload, m mode, dir string, d time.Duration, procs int) (*worker, error) {
	dir, err := os.MkdirTemp(dir, string(m)+"-")
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	p, err := child.Start(child.Command(o.Self, childName, w.Scenario.Name, w.Variant, strconv.FormatUint(o.Seed, 10),
		strconv.FormatFloat(d.Seconds(), 'f', -1, 64), string(m), dir, strconv.Itoa(procs)), "the workload")
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	line, err := p.Line(ctx, startIn)
	if err == nil && line != "ready" {
		err = fmt.Errorf("the workload said %q and not that it is ready", line)
	}
	if err != nil {
		p.Stop()
		return nil, failed(ctx, err)
	}
	return &worker{p, dir}, nil
}

// failed says how a child ended that had not done its work.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("evidence: the workload failed: %w", err)
}

// mark asks how many operations the child has done. That it does not say is no
// reason to stop.
func (c *worker) mark(ctx context.Context) (ops int64, ok bool) {
	line, err := c.Ask(ctx, "mark", 2*time.Second)
	if err != nil {
		return 0, false
	}
	ops, err = strconv.ParseInt(line, 10, 64)
	return ops, err == nil
}

// stop asks the child to end. If it has ended already, wait returns the reason.
func (c *worker) stop() { _ = c.Tell("stop") }

// wait waits for the end of the child and reads what it says of its run.
func (c *worker) wait(ctx context.Context, within time.Duration) (outcome, error) {
	defer c.Stop()
	if err := c.Wait(ctx, within); err != nil {
		return outcome{}, failed(ctx, err)
	}
	text, err := os.ReadFile(c.file(outcomeFile))
	if err != nil {
		return outcome{}, fmt.Errorf("evidence: %w", err)
	}
	var out outcome
	if err := json.Unmarshal(text, &out); err != nil {
		return outcome{}, fmt.Errorf("evidence: what the workload says of its run: %w", err)
	}
	return out, nil
}

func (c *worker) file(name string) string { return filepath.Join(c.dir, name) }
