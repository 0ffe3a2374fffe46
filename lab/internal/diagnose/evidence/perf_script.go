package evidence

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
)

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
			for len(frames) > 1 && frames[len(frames)-1].Func == unknownFrame {
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
			if f, ok := perfFrame(text); ok {
				f = names.better(f, text)
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

const unknownFrame = "[unknown]"

// better names a frame of the program itself, with its line. perf writes addresses in user code
// as places in the file; older ones did not, and then the names differ.
func (g *goFunctions) better(f Frame, text string) Frame {
	if g == nil || !strings.Contains(text, "("+g.path) {
		return f
	}
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	if ip, err := strconv.ParseUint(word, 16, 64); err == nil {
		if known := g.frame(ip + g.shift); known.Func != "" && (f.Func == unknownFrame || f.Func == known.Func) {
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
//	          48fa2b main.(*T).Write (/path/of/the program)
func perfFrame(text string) (Frame, bool) {
	_, rest, ok := strings.Cut(strings.TrimSpace(text), " ")
	if !ok {
		return Frame{}, false
	}
	name, dso := rest, ""
	if at := strings.LastIndex(strings.TrimSuffix(rest, " (deleted))"), " ("); at >= 0 {
		name, dso = rest[:at], strings.TrimSuffix(rest[at+2:], ")")
		dso = strings.TrimSuffix(dso, " (deleted)")
	}
	if name = strings.TrimSpace(name); name == "" {
		name = unknownFrame
	}
	// "name+0x1f": where in the function.
	if at := strings.LastIndex(name, "+0x"); at > 0 {
		name = name[:at]
	}
	f := Frame{Func: name, File: base(dso)}
	switch {
	case strings.HasPrefix(dso, "[kernel") || strings.HasPrefix(dso, "[guest.kernel") || strings.HasSuffix(dso, ".ko"):
		f.File = kernelFile
	case dso == unknownFrame:
		f.File = ""
	default:
		f.Func = compiled.ReplaceAllString(name, "")
		name = f.Func
		f.Native = !strings.Contains(f.File, ".so") && !strings.Contains(name, ".") && name != unknownFrame && f.File != "[vdso]"
	}
	return f, true
}
