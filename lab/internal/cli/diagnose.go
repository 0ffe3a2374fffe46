package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/planted"
)

const diagnoseText = `diagnose looks at one program with several tools and says what costs most and what to
try. The program is a command, which is started (again, if it ends meanwhile), a process that
runs, or what was recorded of one: files of pprof, Go's execution trace, or the output of
perf script or strace -f -T -ttt. It may be written in Go or not; --url adds the net/http/pprof
of one that has it, or is all there is of one on another machine.

It goes by processor time (perf, pprof), system calls (strace, which slows the program
down for a second), what goroutines wait for (read from the memory of the process, or by
the execution trace), and memory that processors share. Tools that are missing are named,
and so are the rules that could not be decided for want of them.

planted/NAME is a program with a fault, planted/NAME/mended the same without, and any
scenario of bench can be looked at by its name; --list has them all.

The cost in the table is the part of the time that mending is thought to give
back at most; from 20 % on it is worth mending first. Lines without a cost only say
what a tool saw most of.

Exit codes: 0 done, whatever was found; 1 the program failed, the server did not
answer, or no tool could be used; 2 wrong command line; 3 interrupted: what was seen
until then is shown.`

// Bounds of --time.
const (
	shortestLook = 100 * time.Millisecond
	longestLook  = evidence.LongestEach
)

// diagnoseFlags are the flags as given.
type diagnoseFlags struct {
	url, json string
	pid       int
	time      time.Duration
	tools     []string
	seed      uint64
	list      bool

	given func(flag string) bool
	dash  int // arguments before --, -1 without it
}

func (a App) diagnose() *cobra.Command {
	var f diagnoseFlags
	cmd := &cobra.Command{
		Use:     "diagnose -- command [argument...] | --pid N | file... | scenario[/variant]",
		Short:   "Say what a program's time is lost to, and what to try",
		Long:    diagnoseText,
		Example: "  lab diagnose --pid $(pgrep -x server) --json server.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given, f.dash = cmd.Flags().Changed, cmd.ArgsLenAtDash()
			return a.runDiagnose(f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.list, "list", false, "list the faulty programs and the scenarios with their variants and do nothing else")
	flags.IntVar(&f.pid, "pid", 0, "look at this process")
	flags.StringVar(&f.url, "url", "", "the `address` of the program's /debug/pprof/, or host:port")
	flags.DurationVar(&f.time, "time", evidence.DefaultEach, "for each tool; the trace and strace take less")
	flags.StringSliceVar(&f.tools, "tools", nil, "only these, with commas between: "+strings.Join(toolNames(), ", "))
	flags.StringVar(&f.json, "json", "", "write everything as JSON to this `file`, - for standard output")
	flags.Uint64Var(&f.seed, "seed", 1, "of the sizes that a scenario draws")
	return cmd
}

// target checks that the flags go together and finds what to look at. dir is for the socket of a program of
// our own.
func (a App) target(f *diagnoseFlags, args []string, self, dir string) (t evidence.Target, err error) {
	t = evidence.Target{PID: f.pid, URL: f.url, Name: f.url}
	switch {
	case f.time < shortestLook || f.time > longestLook:
		return t, fmt.Errorf("--time %v is not within %v to %v", f.time, shortestLook, longestLook)
	case f.given("pid") && f.pid < 1:
		return t, fmt.Errorf("invalid --pid %d", f.pid)
	case f.given("url") && f.url == "":
		return t, errors.New("--url needs an address")
	case f.given("pid") && len(args) > 0:
		return t, errors.New("--pid and a command, file or scenario exclude each other")
	case f.url != "" && len(args) > 0 && f.dash != 0:
		return t, errors.New("--url goes with --pid, with a command behind --, or alone")
	case f.dash > 0:
		return t, fmt.Errorf("%q stands before --", args[0])
	}
	if f.url != "" {
		if err := evidence.CheckURL(f.url); err != nil {
			return t, err
		}
	}
	if f.given("tools") {
		if f.tools, err = wantedTools(f.tools); err != nil {
			return t, err
		}
	}
	switch {
	case f.pid > 0:
		t.Name = "process " + strconv.Itoa(f.pid)
		return t, nil
	case f.dash == 0 && len(args) > 0:
		t.Name, t.Command = strings.Join(args, " "), args
		return t, nil
	case len(args) == 0 && f.url == "":
		return t, errors.New("what? a command behind --, --pid, --url, files, or a name of lab diagnose --list")
	case len(args) == 0:
		return t, nil
	}
	if !slices.ContainsFunc(args, func(path string) bool { _, err := os.Stat(path); return err != nil }) {
		t.Name, t.Files = strings.Join(args, ", "), args
		return t, nil
	}
	if len(args) > 1 {
		return t, fmt.Errorf("%s: not all of them are files; several can be given only of those", strings.Join(args, ", "))
	}
	t.Name = args[0]
	socket := filepath.Join(dir, "pprof")
	if name, ok := strings.CutPrefix(args[0], "planted/"); ok {
		name, variant, given := strings.Cut(name, "/")
		if !given {
			variant = "fault"
		}
		if !slices.ContainsFunc(planted.All(), func(p planted.Program) bool { return p.Name == name }) || variant != "fault" && variant != "mended" {
			return t, fmt.Errorf("no faulty program %q; see lab diagnose --list", args[0])
		}
		t.Command = []string{self, "child", planted.ChildName, name, variant, socket}
	} else {
		s, variant, err := a.workload(args[0])
		if err != nil {
			return t, err
		}
		t.Name = s.Name + " " + variant
		t.Command = []string{self, "child", evidence.ScenarioChild, s.Name, variant, strconv.FormatUint(f.seed, 10), socket}
	}
	t.URL = "unix:" + socket
	return t, nil
}

// workload finds what NAME or NAME/VARIANT stands for.
func (a App) workload(name string) (s *lab.Scenario, variant string, err error) {
	for i := range a.Scenarios {
		s := &a.Scenarios[i]
		if s.Name == name {
			return s, s.Variants[0].Name, nil
		}
		for _, v := range s.Variants {
			if s.Name+"/"+v.Name == name {
				return s, v.Name, nil
			}
		}
	}
	chosen, err := choose(a.Scenarios, []string{name})
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%q is no file, and no scenario matches it; see lab diagnose --list", name)
	case len(chosen) > 1:
		return nil, "", fmt.Errorf("%q matches %d scenarios, %s among them; name one", name, len(chosen), chosen[0].Name)
	}
	return &chosen[0], chosen[0].Variants[0].Name, nil
}

// toolNames are the tools as --tools takes them: without blanks.
func toolNames() []string {
	var names []string
	for _, tool := range evidence.Tools() {
		names = append(names, flagName(tool))
	}
	return names
}

// flagName is the last word of a pprof tool, "cpu", and all of the others with
// dashes: "perf-stat".
func flagName(tool string) string {
	return strings.ReplaceAll(strings.TrimPrefix(tool, "pprof "), " ", "-")
}

// wantedTools are the tools that --tools names, in the order in which they are
// used.
func wantedTools(given []string) ([]string, error) {
	wanted := map[string]bool{}
	for _, name := range given {
		i := slices.IndexFunc(evidence.Tools(), func(tool string) bool { return name == tool || name == flagName(tool) })
		if i < 0 {
			return nil, fmt.Errorf("--tools: there is no %q; there are %s", name, strings.Join(toolNames(), ", "))
		}
		wanted[evidence.Tools()[i]] = true
	}
	if len(wanted) == 0 {
		return nil, errors.New("--tools names none")
	}
	return slices.DeleteFunc(evidence.Tools(), func(tool string) bool { return !wanted[tool] }), nil
}
