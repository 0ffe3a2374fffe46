package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// Main runs the program with its arguments, the program's name not among
// them, and returns the exit code.
func (a App) Main(args []string) int {
	root, out := a.root(), &printed{Writer: a.Stdout}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(a.Stderr)
	err := out.err(root.Execute())
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
	fmt.Fprintf(a.Stderr, "sluice: %s\n", inOneLine(text))
	return code
}

// inOneLine joins the lines of a text, as of an error that has several.
func inOneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return strings.Join(lines, "; ")
}

func (a App) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "sluice",
		Short: "A live relay over pooled, reference-counted memory",
		Long: `sluice serves live streams: it takes them by RTMP, RTSP, WHIP, SRT and HTTP-FLV,
and sends them to many viewers by the same, HLS and WHEP. It makes the tokens that
protected streams ask for, looks into FLV files, and tries servers by hostile clients.`,
		Example:           "  sluice serve",
		Args:              noArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100"))
	// Suggestions for misspelt commands come in several lines.
	root.DisableSuggestions = true
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(a.serve(), a.token(), a.config(), a.doctor(), a.health(), a.cluster(), a.flv(), a.abuse(), a.completion(), a.man(), a.version())
	root.SetHelpCommand(help(root))
	root.SetFlagErrorFunc(explainFlag)
	completeValues(root)
	return root
}

// explainFlag says which flag may be meant by one that there is not, and what a value has to be.
func explainFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return wrongBool(err)
	}
	name := unknown.GetSpecifiedName()
	for _, s := range (&config.Config{}).Secrets() {
		if s.Name == name && cmd.Flags().Lookup("config") != nil {
			return fmt.Errorf("%w: it is secret, and comes from the environment only, as %s", err, s.Env())
		}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := config.Nearest(name, names); near != "" {
		return fmt.Errorf("%w; there is --%s", err, near)
	}
	return err
}

// help replaces the built-in command, which answers a wrong topic with the
// whole usage and success.
func help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about a command",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			if at, _, err := root.Find(args); err == nil {
				for _, sub := range at.Commands() {
					if !sub.Hidden { // as what the scripts of the shells call
						names = append(names, sub.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			topic, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return fmt.Errorf("no help for %q; see sluice --help", strings.Join(args, " "))
			}
			return topic.Help()
		},
	}
}
