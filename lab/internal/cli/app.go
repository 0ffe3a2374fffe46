package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

// Exit codes of the program.
const (
	ExitOK       = 0
	ExitFailure  = 1 // something that was asked for could not be done
	ExitUsage    = 2 // the command line was wrong; nothing was done
	ExitUnusable = 3 // interrupted, or a comparison was invalid: what is there is not all
	ExitMissed   = 4 // bench --full --check: a target was missed
)

// An App is what the command line works on.
type App struct {
	Scenarios []lab.Scenario
	Children  map[string]func(args []string) error // hidden commands that scenarios start as processes
	Stdout    io.Writer
	Stderr    io.Writer

	args []string // of the call of Main
}

// An exitError carries an exit code other than ExitUsage, which is that of
// every other error. It may have no text, when all has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func fail(err error) error { return &exitError{ExitFailure, err} }

// Main runs the program with its arguments, the program's name not among
// them, and returns the exit code.
func (a App) Main(args []string) int {
	a.args = args
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := root.Execute()
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

func (a App) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "lab",
		Short: "Pooled, zero-copy network I/O: the measuring tools",
		Long: `lab measures, on this machine, what reading and moving bytes costs with this
library beside the best that the standard library and others do.`,
		Example:           "  lab bench",
		Version:           buildVersion() + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	// Suggestions for misspelt commands come in several lines.
	root.DisableSuggestions = true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate("lab {{.Version}}\n")
	root.AddCommand(a.bench(), a.load(), a.matrix(), a.diagnose(), a.report(), a.echo(), a.sink(), a.child())
	unsorted(root)
	root.SetHelpCommand(help(root))
	return root
}

// unsorted lists the flags of a command, and of those below it, as they were defined.
func unsorted(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	for _, below := range cmd.Commands() {
		unsorted(below)
	}
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

// buildVersion is the module's version, which the go command takes from the commit where
// there is one.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return strings.Trim(info.Main.Version, "()")
}

func (a App) called() []string { return append([]string{"lab"}, a.args...) }

// interrupts are the signals that end a run early. A hang-up is not among them when the
// caller asked for that, as nohup does.
func interrupts(more ...os.Signal) []os.Signal {
	list := append(more, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// interruptible is a run that a broken pipe ends too: one into head, say, still removes its files.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), interrupts(syscall.SIGPIPE)...)
}

func printed(w io.Writer, items ...document.Item) error {
	p := document.NewPrinter(w, colourful(w))
	p.Print(items...)
	return p.Err()
}

// terminal reports whether w shows its text to a person.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colourful reports whether w is a terminal that shows colours and the user has
// not refused them.
func colourful(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal(w)
}
