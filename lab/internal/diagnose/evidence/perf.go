package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/proc"
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
	lasting := proc.Family(pid)
	for range perfTries {
		now := proc.Family(pid)
		lasting = slices.DeleteFunc(lasting, func(n int) bool { return !slices.Contains(now, n) })
		args[which] = strings.Trim(strings.Join(strings.Fields(fmt.Sprint(lasting)), ","), "[]")
		cmd := exec.Command(path, slices.Concat(args, []string{"sleep", strconv.FormatFloat(d.Seconds(), 'f', 3, 64)})...)
		cmd.Dir = filepath.Dir(data)
		if err = attach(ctx, cmd, "", 0); !errors.Is(err, errVanished) {
			break
		}
	}
	return err
}

// perfRecordOf samples the stacks of a process and its descendants, the kernel's too. goProgram says that the
// leader, whose functions are named, keeps frame pointers, as Go's do; of others the stacks are found by what
// compilers write down for debuggers.
func perfRecordOf(ctx context.Context, pid, leader int, dir string, d time.Duration, goProgram bool) (*Profile, error) {
	data := filepath.Join(dir, "perf.data")
	stacks, names := "dwarf,4096", (*goFunctions)(nil)
	if goProgram {
		stacks, names = "fp", goNames(leader)
	}
	if err := perfRecord(ctx, pid, data, d, "--call-graph", stacks, "-e", "cpu-clock", "-F", strconv.Itoa(perfRate)); err != nil {
		return nil, err
	}
	var p *Profile
	err := perfScript(ctx, data, []string{"-F", "comm,tid,period,event,ip,sym,dso"}, func(out io.Reader) (err error) {
		p, err = readPerfScript(out, int64(time.Second)/perfRate, names)
		return err
	})
	kernels := func(f Frame) bool { return f.File == kernelFile }
	if p != nil && err == nil && os.Geteuid() != 0 && !slices.ContainsFunc(p.Stacks, func(s Stack) bool { return slices.ContainsFunc(s.Frames, kernels) }) {
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

const maxPerfScript = 256 << 20

const kernelFile = "[kernel]"

var errNoSample = errors.New("no sample in perf script's output")

// readPerfScript reads the samples that perf script -F comm,tid,period,event,ip,sym,dso
// writes: a line that is not indented, then a line for each frame, the
// innermost first, then an empty one. A sample counts its period when that is time,
// as with the events cpu-clock and task-clock, and else each sample as ns. names, which may be
// nil, knows the functions of a program in Go, also when it is stripped.
func readPerfScript(r io.Reader, each int64, names *goFunctions) (*Profile, error) {
	s := newStackSet()
	var frames []Frame
	var value, samples int64
	inside, goProgram := false, false
	flush := func() {
		if inside {
			for len(frames) > 1 && frames[len(frames)-1].Func == UnknownFrame {
				frames = frames[:len(frames)-1]
			}
			s.add(frames, value, 1)
			samples++
		}
		frames, inside = frames[:0], false
	}
	cut, failed := eachLine(r, "perf script", maxPerfScript, func(line string) {
		text := strings.TrimRight(line, "\r")
		switch {
		case strings.TrimSpace(text) == "":
			flush()
		case text[0] != ' ' && text[0] != '\t':
			flush()
			value = perfPeriod(text, each)
			inside = value > 0
		case inside && len(frames) < 4*deepest:
			if f, ip, _, ok := perfFrame(text); ok {
				f = names.better(f, ip, text)
				frames = append(frames, f)
				goProgram = goProgram || strings.HasPrefix(f.Func, "runtime.")
			}
		}
	})
	inside = inside && !cut // what is cut off is no sample
	flush()
	if goProgram {
		// Functions without a package are the runtime's, in assembly.
		for _, t := range s.stacks {
			for i := range t.Frames {
				t.Frames[i].Native = false
			}
		}
	}
	p := s.profile(unitTime, keptStacks)
	if samples == 0 && failed == nil {
		return nil, errNoSample
	}
	return p, failed
}

// perfPeriod takes the time that a sample stands for from its first line:
//
//	sluice  4242     250000 cpu-clock:pppH:
func perfPeriod(text string, each int64) int64 {
	words := strings.Fields(text)
	if len(words) < 3 || !strings.HasSuffix(words[len(words)-1], ":") {
		return 0
	}
	period, err := strconv.ParseInt(words[len(words)-2], 10, 64)
	if err != nil || period < 0 {
		return 0
	}
	event := words[len(words)-1]
	if strings.HasPrefix(event, "cpu-clock:") || strings.HasPrefix(event, "task-clock:") {
		return period
	}
	return each
}

// UnknownFrame is a function whose name perf does not know.
const UnknownFrame = "[unknown]"

// better names a frame of the program itself, with its line. perf writes addresses in user code
// as places in the file; older ones did not, and then the names differ.
func (g *goFunctions) better(f Frame, ip uint64, text string) Frame {
	if g != nil && strings.Contains(text, "("+g.path) {
		if known := g.frame(ip + g.shift); known.Func != "" && (f.Func == UnknownFrame || f.Func == known.Func) {
			return known
		}
	}
	return f
}

// compiled is what compilers add to the names of parts of functions.
var compiled = regexp.MustCompile(`(\.(isra|constprop|part|cold|lto_priv)(\.\d+)?)+$`)

// perfFrame takes a frame's line:
//
//	ffffffff81638daa vfs_write ([kernel.kallsyms])
//	          48fa2b main.(*T).Write+0x1f (/path/of/the program)
//
// begin is where the function begins, 0 where the line does not say that.
func perfFrame(text string) (f Frame, ip, begin uint64, ok bool) {
	word, rest, ok := strings.Cut(strings.TrimSpace(text), " ")
	ip, err := strconv.ParseUint(word, 16, 64)
	if !ok || err != nil {
		return f, 0, 0, false
	}
	name, dso := rest, ""
	if at := strings.LastIndex(strings.TrimSuffix(rest, " (deleted))"), " ("); at >= 0 {
		name, dso = rest[:at], strings.TrimSuffix(rest[at+2:], ")")
		dso = strings.TrimSuffix(dso, " (deleted)")
	}
	if name = strings.TrimSpace(name); name == "" {
		name = UnknownFrame
	}
	if at := strings.LastIndex(name, "+0x"); at > 0 {
		if into, err := strconv.ParseUint(name[at+len("+0x"):], 16, 64); err == nil {
			begin = ip - into
		}
		name = name[:at]
	}
	f = Frame{Func: name, File: base(dso)}
	switch {
	case strings.HasPrefix(dso, "[kernel") || strings.HasPrefix(dso, "[guest.kernel") || strings.HasSuffix(dso, ".ko"):
		f.File = kernelFile
	case dso == UnknownFrame:
		f.File = ""
	default:
		f.Func = compiled.ReplaceAllString(name, "")
		name = f.Func
		f.Native = !strings.Contains(f.File, ".so") && !strings.Contains(name, ".") && name != UnknownFrame && f.File != "[vdso]"
	}
	return f, ip, begin, true
}
