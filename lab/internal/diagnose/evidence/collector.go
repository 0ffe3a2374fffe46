package evidence

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// A collector runs the workload under tools.
type collector struct {
	w    Workload
	o    Options
	dir  string
	each time.Duration
	e    *Evidence
}

func (c *collector) use(ctx context.Context, tool string) (note string, err error) {
	switch tool {
	case ToolCPU:
		return "", c.underCPU(ctx)
	case ToolAllocs:
		return fmt.Sprintf("about one allocation in %d KiB is looked at", allocEvery>>10), c.underAllocs(ctx)
	case ToolLocks:
		return fmt.Sprintf("every wait at a lock, and every other one of %v and more", blockFrom), c.underLocks(ctx)
	case ToolTrace:
		return c.underTrace(ctx)
	case ToolStrace:
		return c.underStrace(ctx)
	case ToolPerfStat:
		return c.underPerfStat(ctx)
	case ToolPerfRecord:
		return c.underPerfRecord(ctx)
	default:
		return c.underScaling(ctx)
	}
}

// run runs the workload in a mode in which the started looks at itself, and hands its
// files to read.
func (c *collector) run(ctx context.Context, m mode, d time.Duration, read func(*worker, outcome) error) error {
	started, err := startWorker(ctx, c.o, c.w, m, c.dir, d, runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	defer os.RemoveAll(started.dir)
	out, err := started.wait(ctx, d+endIn)
	if err != nil {
		return err
	}
	c.ran(m, out)
	return read(started, out)
}

// ran keeps what the run came to: that under the CPU profile, or else the first.
func (c *collector) ran(m mode, out outcome) {
	if m == modeCPU || c.e.Took == 0 {
		c.e.Took, c.e.Ops, c.e.Bytes, c.e.CPUTime = out.Wall, out.Ops, out.Bytes, out.CPU
		c.e.ReadCalls, c.e.WriteCalls, c.e.Queued = out.Reads, out.Writes, out.Queued
	}
}

// watched runs the workload in a child while look watches it from outside.
func (c *collector) watched(ctx context.Context, m mode, look func(*worker) error) error {
	// It is stopped when look returns, and ends by itself after d.
	d := c.each + 2*attachIn + letGoIn
	started, err := startWorker(ctx, c.o, c.w, m, c.dir, d, runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	defer os.RemoveAll(started.dir)
	defer started.Stop()
	if err := look(started); err != nil {
		return err
	}
	started.stop()
	out, err := started.wait(ctx, endIn)
	if err == nil && m == modeWatched {
		c.ran(m, out)
	}
	return err
}

func (c *collector) underCPU(ctx context.Context) error {
	return c.run(ctx, modeCPU, c.each, func(started *worker, _ outcome) error {
		p, err := pprofFile(started.file(cpuFile))
		if err == nil {
			c.e.CPU, err = cpuProfile(p)
		}
		return err
	})
}

func (c *collector) underAllocs(ctx context.Context) error {
	return c.run(ctx, modeAllocs, c.each, func(started *worker, _ outcome) error {
		before, err := pprofFile(started.file(beforeFile))
		if err != nil {
			return err
		}
		p, err := pprofFile(started.file(allocsFile))
		if err == nil {
			c.e.Space, c.e.Allocs, err = allocProfiles(p, before)
		}
		return err
	})
}

func (c *collector) underLocks(ctx context.Context) error {
	return c.run(ctx, modeLocks, c.each, func(started *worker, _ outcome) error {
		p, err := pprofFile(started.file(mutexFile))
		if err == nil {
			c.e.Mutex, err = waitProfile(p)
		}
		if err != nil {
			return err
		}
		if p, err = pprofFile(started.file(blockFile)); err == nil {
			c.e.Block, err = waitProfile(p)
		}
		return err
	})
}

func (c *collector) underTrace(ctx context.Context) (note string, err error) {
	err = c.run(ctx, modeTrace, min(c.each, traceFor), func(started *worker, out outcome) error {
		file, err := os.Open(started.file(traceFile))
		if err != nil {
			return fmt.Errorf("evidence: %w", err)
		}
		defer file.Close()
		if c.e.Trace, err = readTrace(file); err != nil && c.e.Trace != nil {
			note, err = strings.TrimPrefix(err.Error(), "evidence: "), nil
		}
		if out.Cut && err == nil {
			note = fmt.Sprintf("ended after %v, when it had %d MiB", c.e.Trace.Took.Round(time.Millisecond), maxWritten>>20)
		}
		return err
	})
	return note, err
}

func (c *collector) underStrace(ctx context.Context) (note string, err error) {
	if _, err := findStrace(); err != nil {
		return "", err
	}
	err = c.watched(ctx, modeCalls, func(started *worker) error {
		c.e.Calls, err = straceOf(ctx, started.PID(), c.dir, c.each, func() (int64, bool) { return started.mark(ctx) })
		note, err = readAsFar(c.e.Calls != nil, err)
		return err
	})
	return note, err
}

func (c *collector) underPerfStat(ctx context.Context) (note string, err error) {
	if _, err := findPerf(); err != nil {
		return "", err
	}
	err = c.watched(ctx, modeWatched, func(started *worker) error {
		p, err := perfStatOf(ctx, started.PID(), c.dir, c.each)
		if p != nil {
			c.e.counted(p)
			note = unsupported(p)
		}
		return err
	})
	return note, err
}

func (c *collector) underPerfRecord(ctx context.Context) (note string, err error) {
	if _, err := findPerf(); err != nil {
		return "", err
	}
	err = c.watched(ctx, modeWatched, func(started *worker) error {
		p, err := perfRecordOf(ctx, started.PID(), c.dir, c.each, c.e.countsCycles())
		if p != nil {
			c.e.perf().Profile = p
		}
		note, err = readAsFar(p != nil, err)
		return err
	})
	return note, err
}

func (c *collector) underScaling(ctx context.Context) (note string, err error) {
	if runtime.GOMAXPROCS(0) < 2 {
		return "", missing("there is one processor only")
	}
	err = c.run(ctx, modeScaling, c.each, func(_ *worker, out outcome) error {
		c.e.Scaling = scalingOf(out)
		if out.Before {
			note = "with processors before others have them, as root can"
		}
		return nil
	})
	return note, err
}
