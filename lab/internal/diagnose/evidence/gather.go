package evidence

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

// Options says how evidence is collected.
type Options struct {
	Each     time.Duration     // for each tool; 0 is DefaultEach, and more than LongestEach is that
	Dir      string            // where the temporary directory goes; empty is the system's
	Progress func(tool string) // called before each tool is used; may be nil
}

// Times for each tool. The execution trace and strace are shorter: a second, and
// a second and a half.
const (
	DefaultEach = 3 * time.Second
	LongestEach = time.Minute
	traceFor    = time.Second
)

var errUnneeded = errors.New("not needed")

type gatherer struct {
	Target
	started *child.Process // of the command
	o       Options
	each    time.Duration
	dir     string
	server  *server // nil without
	mu      sync.Mutex
	e       Evidence
}

// Gather looks at the target with the tools. A tool that cannot be used is listed in
// Evidence.Tools and is no error. It is an error when no tool can be used, or when the target or
// a tool does not exist. When ctx ends, Gather returns what it has and the error of ctx. In
// all cases the processes and files that it made are gone when it returns.
func Gather(ctx context.Context, t Target, o Options) (Evidence, error) {
	g := &gatherer{Target: t, o: o, e: Evidence{Workload: t.Name, Command: len(t.Command) > 0, Tools: []Tool{}}}
	g.each = min(o.Each, LongestEach)
	if o.Each <= 0 {
		g.each = DefaultEach
	}
	if t.URL != "" {
		server, err := newServer(t.URL)
		if err != nil {
			return g.e, err
		}
		g.server = server
	}
	if err := ctx.Err(); err != nil {
		return g.e, err
	}
	if len(t.Files) > 0 {
		return g.e, g.files()
	}
	if _, err := proc.Read(t.PID); t.PID > 0 && errors.Is(err, fs.ErrNotExist) {
		return g.e, err
	}
	dir, err := os.MkdirTemp(o.Dir, "sluice-diagnose-")
	if err != nil {
		return g.e, err
	}
	g.dir = dir
	defer os.RemoveAll(dir)
	defer g.stop()
	// What does not disturb the others looks at the same time, the rest one after the other.
	for _, tools := range [][]string{{ToolProc, ToolCgroup, ToolCPU, ToolAllocs, ToolGoroutines, ToolPerfRecord}, {ToolTrace}, {ToolStrace}, {ToolSharing}} {
		if err == nil {
			err = g.use(ctx, tools)
		}
	}
	if err == nil && !slices.ContainsFunc(g.e.Tools, func(t Tool) bool { return t.State == OK }) {
		// What failed says more than what there is nothing for.
		why := g.e.Tools[max(0, slices.IndexFunc(g.e.Tools, func(t Tool) bool { return t.State == Failed }))]
		err = fmt.Errorf("no tool could be used: %s: %s", why.Name, why.Note)
	}
	return g.e, err
}

func (g *gatherer) files() error {
	used := map[string]bool{}
	for _, path := range g.Files {
		tool, err := g.e.readFile(path)
		if err != nil && (tool == "" || !g.has(tool)) {
			if !strings.Contains(err.Error(), path) { // an error of opening it has it
				err = fmt.Errorf("%s: %w", path, err)
			}
			return err
		}
		if used[tool] && tool != ToolLocks {
			return fmt.Errorf("%s is the second file of %s", path, tool)
		}
		note := path
		if err != nil {
			note = path + ": " + noteOf(err)
		}
		used[tool] = true
		g.e.Tools = append(g.e.Tools, Tool{Name: tool, State: OK, Note: note})
	}
	for _, tool := range Tools() {
		if !used[tool] {
			g.e.Tools = append(g.e.Tools, Tool{Name: tool, State: Missing, Note: "there is no file of it"})
		}
	}
	return nil
}

func (g *gatherer) has(tool string) bool {
	e := &g.e
	return tool == ToolTrace && e.Waits != nil || tool == ToolStrace && e.Calls != nil || tool == ToolPerfRecord && e.Perf != nil
}

// noteOf is the text of an error beside the state that says that the tool is missing.
func noteOf(err error) string { return strings.TrimPrefix(err.Error(), errMissing.Error()+": ") }

// use uses tools at the same time and books what became of each. It fails when ctx ends.
func (g *gatherer) use(ctx context.Context, tools []string) error {
	pid, err := g.pid(ctx)
	if err != nil {
		return err
	}
	leader := leaderOf(ctx, pid)
	if leader > 0 && g.e.Go == "" {
		g.e.Go = goInfo(leader).GoVersion
	}
	results := make([]Tool, len(tools))
	var all sync.WaitGroup
	for i, name := range tools {
		if g.o.Progress != nil {
			g.o.Progress(name)
		}
		all.Go(func() {
			note, err := g.tool(ctx, name, pid, leader)
			state := OK
			switch {
			case ctx.Err() != nil && err != nil:
				state, note = Failed, "interrupted"
			case errors.Is(err, errUnneeded):
				state = Unneeded
			case errors.Is(err, errMissing):
				state, note = Missing, noteOf(err)
			case err != nil && g.has(name):
				note = noteOf(err)
			case err != nil:
				state, note = Failed, noteOf(err)
			}
			results[i] = Tool{name, state, note}
		})
	}
	all.Wait()
	g.e.Tools = append(g.e.Tools, results...)
	return ctx.Err()
}

func (g *gatherer) tool(ctx context.Context, name string, pid, leader int) (note string, err error) {
	e := &g.e
	switch name {
	case ToolCPU, ToolAllocs:
		if g.server == nil {
			return "", missing("needs net/http/pprof in the program, and its address (--url)")
		}
		return "", g.server.get(ctx, map[string]string{ToolCPU: "profile", ToolAllocs: "allocs"}[name], g.each, func(body io.Reader) error {
			p, err := readPprof(body)
			if err == nil {
				g.mu.Lock()
				defer g.mu.Unlock()
				_, err = e.takePprof(p, false)
			}
			return err
		})
	case ToolTrace:
		switch {
		case e.Waits != nil:
			return "", errUnneeded
		case g.server == nil:
			return "", missing("needs net/http/pprof in the program, and its address (--url)")
		}
		return "", g.server.get(ctx, "trace", min(g.each, traceFor), func(body io.Reader) error {
			e.Waits, err = readTrace(body)
			return err
		})
	}
	if pid == 0 {
		return "", missing("needs the process (--pid)")
	}
	switch name {
	case ToolProc:
		return g.usage(ctx, pid)
	case ToolCgroup:
		e.Quota, err = quotaOf(ctx, pid, g.each)
		return "", err
	case ToolGoroutines:
		if e.Go == "" {
			return "", missing("the program is not written in Go, or its file cannot be read")
		}
		e.Waits, err = sampleGoroutines(ctx, leader, g.each)
		return "", err
	case ToolPerfRecord:
		e.Perf, err = perfRecordOf(ctx, pid, leader, g.dir, g.each, e.Go != "")
		e.UserOnly = errors.Is(err, errNoKernel)
		return "", err
	case ToolStrace:
		e.Calls, err = straceOf(ctx, pid, leader, g.dir, g.each, e.Go != "")
		return "", err
	default:
		e.Sharing, note, err = sharingOf(ctx, leader, g.dir, g.each, e)
		return note, err
	}
}

func (g *gatherer) usage(ctx context.Context, pid int) (note string, err error) {
	before, err := proc.Read(pid)
	if err != nil {
		return "", err
	}
	others := proc.ReadOthers()
	began := time.Now()
	pause(ctx, g.each)
	after, err := proc.Read(pid)
	if err != nil {
		return "", missing("the process ended meanwhile")
	}
	spent, took := before.To(after), time.Since(began)
	used, _ := others.To(proc.ReadOthers())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.e.Took, g.e.CPUTime, g.e.Processors = max(g.e.Took, took), spent.CPU, runtime.NumCPU()
	g.e.Others = max(0, used-spent.CPU.Seconds()/took.Seconds())
	if spent.Queued != nil {
		g.e.Queued = *spent.Queued
	}
	return "", nil
}

// readFile takes what a file holds that was recorded earlier: a profile of pprof, an
// execution trace of Go, or the output of perf script or strace -f -T -ttt. Its form says
// which. It returns the name of the tool.
func (e *Evidence) readFile(path string) (tool string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 64<<10)
	head, _ := in.Peek(4096) // shorter files have less
	first, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case bytes.HasPrefix(head, []byte("go 1.")):
		e.Waits, err = readTrace(in)
		if e.Waits != nil {
			e.Took = max(e.Took, e.Waits.Took)
		}
		return ToolTrace, err
	case perfPeriod(string(first), int64(time.Second)/perfRate) > 0:
		p, err := readPerfScript(in, int64(time.Second)/perfRate, nil)
		e.Perf = p
		return ToolPerfRecord, err
	case bytes.Contains(first, []byte("(")) && (bytes.Contains(head, []byte(") = ")) || bytes.Contains(head, []byte("<unfinished ...>"))):
		e.Calls, err = readStrace(in, false, nil, nil)
		if e.Calls != nil {
			e.Took = max(e.Took, e.Calls.Took)
		}
		return ToolStrace, err
	}
	p, err := readPprof(in)
	if err != nil {
		return "", fmt.Errorf("%s is no profile of pprof, no trace of Go 1.22 or later, and no output of perf script or strace: %w", path, err)
	}
	return e.takePprof(p, strings.Contains(base(path), "mutex"))
}
