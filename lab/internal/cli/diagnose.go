package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

const diagnoseText = `diagnose looks at one workload with several tools, one after the other, and
says what costs most and what to try: CPU, allocation and lock profiles (pprof),
the execution trace, system calls (strace), the processor's counters and the
kernel's part (perf), and whether more processors help. Tools that are missing
are named; the rules do with what there is.

A scenario is one of --list, with a variant behind a slash or in --variant; else
the first of its variants. The scenarios planted/... each have one fault, on which
diagnose can be tried, and a variant in which it is mended. A running server is
looked at through its net/http/pprof with --url; with --pid, strace and perf look at
its process too, which slows it down meanwhile.

The cost in the table is the part of the time that mending is thought to give
back at most; from 20 % on it is worth mending first. Lines without a cost only say
what a tool saw most of.

Exit codes: 0 done, whatever was found; 1 the workload failed, the server did not
answer, or no tool could be used; 2 wrong command line; 3 interrupted: what was seen
until then is shown.`

// Bounds of --time.
const (
	shortestLook = 100 * time.Millisecond
	longestLook  = evidence.LongestEach
)

// diagnoseFlags are the flags as given.
type diagnoseFlags struct {
	variant, url, json string
	pid                int
	time               time.Duration
	tools              []string
	seed               uint64
	list               bool

	given func(flag string) bool
}

func (a App) diagnose() *cobra.Command {
	var f diagnoseFlags
	cmd := &cobra.Command{
		Use:     "diagnose scenario[/variant]",
		Short:   "Say what a workload's time is lost to, and what to try",
		Long:    diagnoseText,
		Example: "  lab diagnose planted/small-writes --json writes.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			return a.runDiagnose(f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.list, "list", false, "list the scenarios with their variants and do nothing else")
	flags.StringVar(&f.variant, "variant", "", "the scenario's variant; the first unless told")
	flags.StringVar(&f.url, "url", "", "look at a running server: the `address` of its /debug/pprof/, or host:port")
	flags.IntVar(&f.pid, "pid", 0, "with --url: the server's process, for strace and perf")
	flags.DurationVar(&f.time, "time", evidence.DefaultEach, "for each tool; the trace and strace take less")
	flags.StringSliceVar(&f.tools, "tools", nil, "only these, with commas between: "+strings.Join(toolNames(), ", "))
	flags.StringVar(&f.json, "json", "", "write everything as JSON to this `file`, - for standard output")
	flags.Uint64Var(&f.seed, "seed", 1, "of the sizes that are drawn")
	return cmd
}

// checkDiagnose checks that the flags go together and finds the workload; nil with --url
// and --list.
func (a App) checkDiagnose(f *diagnoseFlags, args []string) (*evidence.Workload, error) {
	switch {
	case len(args) > 1:
		return nil, fmt.Errorf("diagnose looks at one scenario, got %d", len(args))
	case f.list && (len(args) > 0 || f.url != ""):
		return nil, errors.New("--list goes without a scenario")
	case f.given("url") && f.url == "":
		return nil, errors.New("--url needs an address")
	case f.url != "" && len(args) > 0:
		return nil, errors.New("a scenario and --url exclude each other")
	case f.given("variant") && len(args) == 0:
		return nil, errors.New("--variant goes with a scenario")
	case f.given("pid") && f.url == "":
		return nil, errors.New("--pid goes with --url")
	case f.given("pid") && f.pid < 1:
		return nil, fmt.Errorf("invalid --pid %d", f.pid)
	case f.time < shortestLook || f.time > longestLook:
		return nil, fmt.Errorf("--time %v is not within %v to %v", f.time, shortestLook, longestLook)
	}
	if f.given("tools") {
		tools, err := wantedTools(f.tools)
		if err != nil {
			return nil, err
		}
		f.tools = tools
	}
	switch {
	case f.list:
		return nil, nil
	case f.url != "":
		return nil, evidence.CheckURL(f.url)
	case len(args) == 0:
		return nil, errors.New("which scenario? see lab diagnose --list; or --url for a running server")
	}
	return a.workload(args[0], f.variant)
}

// workload finds what NAME or NAME/VARIANT stands for.
func (a App) workload(name, variant string) (*evidence.Workload, error) {
	s := a.scenario(name)
	if s == nil {
		if i := strings.LastIndexByte(name, '/'); i > 0 {
			if s = a.scenario(name[:i]); s != nil {
				last := name[i+1:]
				if variant != "" && variant != last {
					return nil, fmt.Errorf("%s and --variant %s name two variants", name, variant)
				}
				variant = last
			}
		}
	}
	if s == nil {
		chosen, err := choose(a.Scenarios, []string{name})
		switch {
		case err != nil:
			return nil, fmt.Errorf("no scenario matches %q; see lab diagnose --list", name)
		case len(chosen) > 1:
			return nil, fmt.Errorf("%q matches %d scenarios, %s among them; name one", name, len(chosen), chosen[0].Name)
		}
		s = &chosen[0]
	}
	if variant == "" {
		variant = s.Variants[0].Name
	}
	var names []string
	for _, v := range s.Variants {
		names = append(names, v.Name)
	}
	if !slices.Contains(names, variant) {
		return nil, fmt.Errorf("%s has no variant %q; it has %s", s.Name, variant, strings.Join(names, ", "))
	}
	return &evidence.Workload{Name: s.Name + " " + variant, Scenario: s, Variant: variant}, nil
}

func (a App) scenario(name string) *lab.Scenario {
	for i := range a.Scenarios {
		if a.Scenarios[i].Name == name {
			return &a.Scenarios[i]
		}
	}
	return nil
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
