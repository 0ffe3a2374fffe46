package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

const (
	// perfRate is how many samples perf takes a second of each processor: a prime,
	// so that it does not keep step with what the program does.
	perfRate = 997
	// scriptIn is how long perf script may take to put names to the samples.
	scriptIn = time.Minute
)

func findPerf() (string, error) {
	return program("perf", "apt-get install linux-perf (Debian), linux-tools-generic (Ubuntu)")
}

// perfTries is how often perf is tried because one of the processes had ended.
const perfTries = 5

// perfRecord samples a process and those that it started into a file. perf fails when one of them has
// ended: then it is tried again with those that were there each time.
func perfRecord(ctx context.Context, pid int, data string, d time.Duration, args ...string) error {
	path, err := findPerf()
	if err != nil {
		return err
	}
	// -N: leave nothing in the cache of the home directory; -B and --no-bpf-event: look at no files that have
	// nothing to do with the process, which takes longer than all else.
	args = append([]string{"record", "-N", "-B", "--no-bpf-event", "-o", data, "-p", ""}, args...)
	which := slices.Index(args, "-p") + 1
	lasting := family(pid)
	for range perfTries {
		now := family(pid)
		lasting = slices.DeleteFunc(lasting, func(n int) bool { return !slices.Contains(now, n) })
		args[which] = strings.Trim(strings.Join(strings.Fields(fmt.Sprint(lasting)), ","), "[]")
		cmd := exec.Command(path, slices.Concat(args, []string{"sleep", seconds(d)})...)
		cmd.Dir = filepath.Dir(data)
		if err = attach(ctx, cmd, "", 0); !errors.Is(err, errVanished) {
			break
		}
	}
	return err
}

// perfRecordOf samples the stacks of a process, the kernel's too. goProgram says that it
// keeps frame pointers, as Go's do; of others the stacks are found by what
// compilers write down for debuggers.
func perfRecordOf(ctx context.Context, pid int, dir string, d time.Duration, goProgram bool) (*Profile, error) {
	data := filepath.Join(dir, "perf.data")
	stacks, names := "dwarf,4096", (*goFunctions)(nil)
	if goProgram {
		stacks, names = "fp", goNames(pid)
	}
	if err := perfRecord(ctx, pid, data, d, "--call-graph", stacks, "-e", "cpu-clock", "-F", strconv.Itoa(perfRate)); err != nil {
		return nil, err
	}
	var p *Profile
	err := perfScript(ctx, data, []string{"-F", "comm,tid,period,event,ip,sym,dso"}, func(out io.Reader) (err error) {
		p, err = readPerfScript(out, int64(time.Second)/perfRate, names)
		return err
	})
	if p != nil && err == nil && os.Geteuid() != 0 && !seesKernel(p) {
		err = errNoKernel
	}
	if errors.Is(err, errNoSample) {
		return &Profile{Unit: unitTime, Stacks: []Stack{}}, errIdle
	}
	return p, err
}

var (
	// errIdle stands beside a profile with nothing in it.
	errIdle = errors.New("no samples: the process hardly ran")
	// errNoKernel stands beside a profile of the program's own part.
	errNoKernel = errors.New("without the kernel's part, which is for root, or as root sysctl kernel.perf_event_paranoid=1")
)

func seesKernel(p *Profile) bool {
	return slices.ContainsFunc(p.Stacks, func(s Stack) bool {
		return slices.ContainsFunc(s.Frames, func(f Frame) bool { return f.File == kernelFile })
	})
}

func perfScript(ctx context.Context, data string, args []string, read func(io.Reader) error) error {
	path, err := findPerf()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, scriptIn)
	defer cancel()
	// Without inlined functions: perf asks addr2line for each of them.
	cmd := exec.CommandContext(ctx, path, append([]string{"script", "--no-inline", "-i", data}, args...)...)
	cmd.Dir = filepath.Dir(data)
	cmd.WaitDelay = 2 * time.Second
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+cmd.Dir)
	said := &child.Tail{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	err = read(out)
	if errors.Is(err, ErrTooLarge) {
		cancel()
	}
	_, _ = io.Copy(io.Discard, out) // it is over or it fails again in Wait
	if waitErr := cmd.Wait(); waitErr != nil && err != nil {
		return fmt.Errorf("perf script: %w: %s", waitErr, said.String())
	}
	return err
}
