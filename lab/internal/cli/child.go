package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

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
