package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
)

// Main runs the program with its arguments, the program's name not among
// them, and returns the exit code.
func (a App) Main(args []string) int {
	a.args = args
	root := a.root()
	root.SetArgs(args)
	help := &keptError{to: a.Stdout}
	root.SetOut(help)
	root.SetErr(a.Stderr)
	err := root.Execute()
	if help.err != nil {
		err = fail(help.err)
	}
	if err == nil {
		return ExitOK
	}
	code, text := ExitUsage, err.Error()
	var exit *exitError
	if errors.As(err, &exit) {
		code = exit.code
		if exit.err == nil {
			return code
		}
	}
	fmt.Fprintf(a.Stderr, "lab: %s\n", document.OneLine(text))
	return code
}

// A keptError keeps the first error of a writer: cobra asks for none when it prints its help. Data is borrowed.
type keptError struct {
	to  io.Writer
	err error
}

func (k *keptError) Write(data []byte) (int, error) {
	n, err := k.to.Write(data)
	if k.err == nil {
		k.err = err
	}
	return n, err
}

func (a App) root() *cobra.Command {
	root := command("lab", nil)
	root.Args = nil // what stands there is a command
	root.Version = buildVersion() + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SilenceErrors, root.SilenceUsage, root.DisableAutoGenTag = true, true, true
	// Suggestions for misspelt commands come in several lines.
	root.DisableSuggestions = true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(wrongFlag)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return emptyFlag(cmd.Flags()) }
	root.SetVersionTemplate("lab {{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100"))
	root.AddCommand(a.bench(), loadCommand{a, load.Run, load.Calibrate}.command(), a.matrix(), a.diagnose(), a.report(), a.echo(), a.sink(), a.child())
	unsorted(root)
	root.SetHelpCommand(help(root))
	return root
}

func unsorted(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	for _, below := range cmd.Commands() {
		unsorted(below)
	}
}

var kindsOfValue = map[string]string{
	"int": "a whole number", "uint64": "a whole number from 0 on", "float64": "a number", "bool": "true or false",
	"duration": "a time such as 500ms, 10s or 5m",
}

func wrongFlag(_ *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	name, kind := wrong.GetFlag().Name, kindsOfValue[wrong.GetFlag().Value.Type()]
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("--%s: %.40q is out of range", name, wrong.GetValue())
	case kind != "":
		return fmt.Errorf("--%s: %.40q is not %s", name, wrong.GetValue(), kind)
	}
	return fmt.Errorf("--%s: %w", name, wrong.Unwrap())
}

// emptyFlag refuses flags with an empty text, as of a variable of the shell that is not set: they
// would be as if they were not there. Only --html= has a meaning.
func emptyFlag(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if t := f.Value.Type(); (t == "string" || t == "stringSlice") && strings.Trim(f.Value.String(), "[]") == "" && f.Name != "html" {
			err = fmt.Errorf("--%s is empty", f.Name)
		}
	})
	return err
}

// help replaces the built-in command, which answers a wrong topic with the
// whole usage and success.
func help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			topic, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return fmt.Errorf("no help for %q; see lab --help", strings.Join(args, " "))
			}
			return topic.Help()
		},
	}
}

// child is the hidden command by which a scenario runs a part of itself, the
// peer that sends say, in a process of its own.
func (a App) child() *cobra.Command {
	return &cobra.Command{
		Use:                "child name [arguments]",
		Short:              "Run a part of a scenario; not for people",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("child: which one?")
			}
			run, ok := a.Children[args[0]]
			if !ok {
				return fmt.Errorf("child: there is no %q", args[0])
			}
			if err := run(args[1:]); err != nil {
				return fail(fmt.Errorf("child %s: %w", args[0], err))
			}
			return nil
		},
	}
}
