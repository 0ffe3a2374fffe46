package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

// errMissing marks a tool that is not installed, not permitted, or has nothing
// to do here.
var errMissing = errors.New("missing")

func missing(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errMissing, fmt.Sprintf(format, args...))
}

const (
	// endIn is how long a tool may take to begin and to write what it saw.
	endIn = 40 * time.Second
	// letGoIn is how long one may take to let go of the processes after its interrupt. strace may
	// wait for ever for one that is in vfork, whose child it has stopped: all stand still then, and
	// go on when it is killed.
	letGoIn = time.Second
)

func program(name, install string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", missing("%s is a tool of Linux", name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", missing("%s is not installed: %s", name, install)
	}
	return path, nil
}

// attach runs a tool on other processes until it ends or, where stop is above nothing, is
// interrupted that long after it has said attached. It ends with ctx.
func attach(ctx context.Context, cmd *exec.Cmd, attached string, stop time.Duration) error {
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PERF_PAGER=cat", "PAGER=cat")
	p, err := child.Start(cmd, cmd.Args[0])
	if err != nil {
		return err
	}
	defer p.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	late := time.After(endIn + stop)
	var over, letGo <-chan time.Time
	for {
		select {
		case <-p.Gone():
			if err := p.Wait(ctx, time.Second); err != nil && over == nil {
				return refused(cmd.Args[0], p.Said(), err)
			}
			return nil
		case <-look.C:
			if stop > 0 && over == nil && strings.Contains(p.Said(), attached) {
				over = time.After(stop)
			}
		case <-over:
			_ = p.Signal(os.Interrupt) // fails only if it is gone
			stop, letGo = 0, time.After(letGoIn)
		case <-letGo:
			return nil // Stop kills it; what it has written is there
		case <-ctx.Done():
			_ = p.Signal(os.Interrupt) // strace lets go of the process then
			_ = p.Wait(context.WithoutCancel(ctx), time.Second)
			return ctx.Err()
		case <-late:
			return fmt.Errorf("%s had not ended after %v", cmd.Args[0], endIn)
		}
	}
}

var errVanished = errors.New("a process had ended")

// refused makes an error of what a tool said and ended with that did not do its work. perf has done it when
// the process ends before its time is over: it kills its sleep then, and ends as that does.
func refused(name, said string, ended error) error {
	short := said[:min(len(said), 300)]
	switch {
	case said == "": // as perf does when a process ends while it begins
		return fmt.Errorf("%s failed: %w: maybe %w", name, errors.Unwrap(ended), errVanished)
	case strings.Contains(said, "Captured and wrote"):
		return nil
	case strings.Contains(said, "No such process"), strings.Contains(said, "Ignored open failure"):
		return fmt.Errorf("%s: %w: %s", name, errVanished, short)
	case strings.Contains(said, "perf_event_paranoid") || strings.Contains(said, "No permission to enable"):
		return missing("perf is not permitted here: as root, sysctl kernel.perf_event_paranoid=1, or in a container --cap-add PERFMON")
	case strings.Contains(said, "Operation not permitted"), strings.Contains(said, "Permission denied"):
		return missing("%s may not look at the process (root, kernel.yama.ptrace_scope=0, or in a container --cap-add SYS_PTRACE): %s", name, short)
	}
	return fmt.Errorf("%s failed: %s", name, short)
}

const (
	// leadIn is how long a process and its descendants are watched for the one to look at.
	leadIn = 200 * time.Millisecond
	// leads is how many times as much as the process that was given that one has to work.
	leads = 100
	// buildIn is how long go run may take to build its program.
	buildIn = 2 * time.Minute
)

// builtBy is what go run has built, once that runs, where it is among a process and its descendants; else the process.
func builtBy(ctx context.Context, pid int) int {
	ctx, stop := context.WithTimeout(ctx, buildIn)
	defer stop()
	isGoRun := func(pid int) bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // nothing when it has ended
		args := strings.Split(string(text), "\x00")
		return base(args[0]) == "go" && slices.Contains(args, "run")
	}
	for ctx.Err() == nil {
		list := proc.Family(pid)
		if !slices.ContainsFunc(list, isGoRun) {
			return pid
		}
		if at := slices.IndexFunc(list, func(n int) bool { path := goInfo(n).Path; return path != "" && !strings.HasPrefix(path, "cmd/") }); at >= 0 {
			return list[at]
		}
		pause(ctx, 5*time.Millisecond)
	}
	return pid
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// leaderOf is pid or, where that does nothing itself, the descendant that works most: what was given is a shell then,
// go run, or a master process.
func leaderOf(ctx context.Context, pid int) int {
	pid = builtBy(ctx, pid)
	list := proc.Family(pid)
	if pid == 0 || len(list) == 1 {
		return pid
	}
	used := func() map[int]time.Duration {
		at := map[int]time.Duration{}
		for _, n := range list {
			at[n], _ = proc.CPU(n) // 0 when it has ended
		}
		return at
	}
	before := used()
	pause(ctx, leadIn)
	after := used()
	works := func(n int) time.Duration { return after[n] - before[n] }
	most := slices.MaxFunc(list, func(a, b int) int { return cmp.Compare(works(a), works(b)) })
	if works(most) <= leads*works(pid) {
		return pid
	}
	return most
}

// straceFor bounds the time under strace, where a call takes some 50 µs.
const straceFor = 1500 * time.Millisecond

// straceOf traces a process and its descendants, of which the leader's descriptors are looked at.
func straceOf(ctx context.Context, pid, leader int, dir string, d time.Duration, goProgram bool) (*Calls, error) {
	path, err := program("strace", "apt-get install strace")
	if err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "strace")
	// Nothing of the data is written, but all lengths of what is given in pieces;
	// signals are left out.
	cmd := exec.Command(path, "-f", "-T", "-ttt", "-s", "0", "-e", "signal=none", "-e", "abbrev=!readv,writev,preadv,pwritev,preadv2,pwritev2,sendmsg,recvmsg,vmsplice", "-o", out)
	family := proc.Family(pid)
	for _, n := range family {
		cmd.Args = append(cmd.Args, "-p", strconv.Itoa(n))
	}
	nameOf := func(n int) string {
		if n == leader {
			return ""
		}
		return strconv.Itoa(n) + ":"
	}
	known, processes := connectionsOf(family, nameOf), processesOf(family, nameOf)
	if err := attach(ctx, cmd, " attached", min(d, straceFor)); err != nil {
		return nil, err
	}
	file, err := os.Open(out)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readStrace(file, goProgram, known, processes)
}

// processesOf names the process of each thread, so that descriptors of two with one number are two. A thread that is
// not in it is one of a process that nameOf calls "".
func processesOf(pids []int, nameOf func(pid int) string) map[string]string {
	names := map[string]string{}
	for _, pid := range pids {
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // nothing when it has ended
		for _, thread := range threads {
			names[thread.Name()] = nameOf(pid)
		}
	}
	return names
}

// descriptorsOf are those that a process has, with their paths below /proc.
func descriptorsOf(pid int) map[int]string {
	found := map[int]string{}
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	list, _ := os.ReadDir(dir)
	for _, entry := range list[:min(len(list), maxUnfinished)] {
		if number, err := strconv.Atoi(entry.Name()); err == nil {
			found[number] = dir + entry.Name()
		}
	}
	return found
}

// A Target is what is looked at: a process, a command, a server, or files. A server may stand beside a
// process or command: it is its net/http/pprof.
type Target struct {
	Name    string // what Evidence calls it
	PID     int
	Command []string // started for the time of looking, again when it has ended
	URL     string   // host:port, http://host:port/debug/pprof/, or unix:PATH
	Files   []string
}

const (
	// warmUp is how long a command runs before it is looked at.
	warmUp = 300 * time.Millisecond
	// closeIn is how long it may take to end.
	closeIn = 2 * time.Second
)

// pid is the process to look at; 0 where there is a server or files only. A command is started, and started
// again when it has ended.
func (s *gatherer) pid(ctx context.Context) (int, error) {
	if len(s.Command) == 0 {
		return s.PID, nil
	}
	var why error
	for range 2 {
		if s.started == nil {
			cmd := exec.Command(s.Command[0], s.Command[1:]...)
			if in, err := os.Stdin.Stat(); err == nil && (in.Mode().IsRegular() || in.Mode()&os.ModeNamedPipe != 0) {
				if given, err := os.Open("/dev/stdin"); err == nil { // a file from its beginning each time
					defer given.Close()
					cmd.Stdin = given
				}
			}
			p, err := child.Start(cmd, s.Command[0])
			if err != nil {
				return 0, err
			}
			s.started = p
			p.Discard()
			select {
			case <-p.Gone():
			case <-time.After(warmUp):
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		select {
		case <-s.started.Gone():
			why = s.started.Ended()
			s.stop()
		default:
			return s.started.PID(), nil
		}
	}
	return 0, fmt.Errorf("%s ends within %v, which is too short to be looked at (one that goes on in the background: --pid): %w", strings.Join(s.Command, " "), warmUp, why)
}

func (s *gatherer) stop() {
	if s.started == nil {
		return
	}
	s.started.End(closeIn)
	s.started = nil
}
