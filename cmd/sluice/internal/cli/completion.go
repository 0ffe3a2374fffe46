package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

func (a App) completion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes commands and flags in a shell",
		Long: `completion prints a script that makes a shell complete commands and flags. Where it
belongs differs: bash reads /etc/bash_completion.d/sluice, fish
~/.config/fish/completions/sluice.fish, zsh _sluice in a directory of $fpath.`,
		Example:   "  sluice completion bash > /etc/bash_completion.d/sluice",
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			write := map[string]func(io.Writer) error{
				"bash":       func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
				"zsh":        root.GenZshCompletion,
				"fish":       func(w io.Writer) error { return root.GenFishCompletion(w, true) },
				"powershell": root.GenPowerShellCompletionWithDesc,
			}
			if len(args) != 1 || write[args[0]] == nil {
				return fmt.Errorf("completion: want bash, zsh, fish or powershell, got %q", args)
			}
			if err := write[args[0]](a.Stdout); err != nil {
				return fail(fmt.Errorf("completion: %w", err))
			}
			return nil
		},
	}
}

// completeValues has the shells complete the arguments and flags of cmd and of the
// commands below it by what they take: one of some words, a file, a directory, or
// something that a shell cannot know.
func completeValues(cmd *cobra.Command) {
	if len(cmd.ValidArgs) == 0 && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = completionOf(cmd.Use[strings.LastIndex(cmd.Use, " ")+1:])
	}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		kind, _ := pflag.UnquoteUsage(flag)
		complete := completionOf(kind)
		if s, ok := flag.Value.(*settingFlag); ok && s.Choices != nil {
			complete = cobra.FixedCompletions(s.Choices, cobra.ShellCompDirectiveNoFileComp)
		}
		if err := cmd.RegisterFlagCompletionFunc(flag.Name, complete); err != nil {
			panic(fmt.Sprintf("cli: %v", err))
		}
	})
	for _, sub := range cmd.Commands() {
		completeValues(sub)
	}
}

// completionOf completes what has this kind, as help calls it.
func completionOf(kind string) cobra.CompletionFunc {
	directive := cobra.ShellCompDirectiveNoFileComp
	switch strings.ToLower(kind) {
	case "file", "path":
		directive = cobra.ShellCompDirectiveDefault
	case "directory":
		directive = cobra.ShellCompDirectiveFilterDirs
	}
	return cobra.FixedCompletions(nil, directive)
}

func (a App) man() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIRECTORY",
		Short:   "Write the manual pages, one for each command",
		Example: "  sluice man /usr/local/share/man/man1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("man: want one directory, got %q", args)
			}
			info, err := os.Stat(args[0])
			if err == nil && !info.IsDir() {
				err = fmt.Errorf("%s is no directory", args[0])
			}
			if err != nil {
				return fail(fmt.Errorf("man: %w", err))
			}
			header := &doc.GenManHeader{Section: "1", Source: versionLine(), Manual: "Sluice"}
			if err := doc.GenManTree(cmd.Root(), header, args[0]); err != nil {
				return fail(fmt.Errorf("man: %w", err))
			}
			return nil
		},
	}
}
