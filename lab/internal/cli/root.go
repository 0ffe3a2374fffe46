package cli

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/document"
)

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
