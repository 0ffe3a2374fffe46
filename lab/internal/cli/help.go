package cli

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed help
var helpTexts embed.FS

// command is the one of a file of help, which has its use, what it is for in a line, what --help says, and an
// example. An error of run that has no exit code is one of the command line, which the command's name stands before.
func command(name string, run func(args []string) error) *cobra.Command {
	text, err := helpTexts.ReadFile("help/" + strings.ReplaceAll(name, " ", "-") + ".txt")
	if err != nil {
		panic("cli: " + err.Error())
	}
	use, rest, _ := strings.Cut(string(text), "\n")
	short, rest, _ := strings.Cut(rest, "\n\n")
	long, example, _ := strings.Cut(rest, "\n\nExample:\n")
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: strings.TrimRight(example, "\n"), Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			err := run(args)
			if err != nil && !errors.As(err, new(*exitError)) && !strings.HasPrefix(err.Error(), name+":") {
				err = fmt.Errorf("%s: %w", name, err)
			}
			return err
		},
	}
}
