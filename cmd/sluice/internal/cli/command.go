package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// An App holds the outputs of the command line.
type App struct {
	Stdout io.Writer
	Stderr io.Writer
}

// Exit codes of the program.
const (
	ExitOK       = 0
	ExitFailure  = 1 // something that was asked for could not be done
	ExitUsage    = 2 // the command line was wrong; nothing was done
	ExitUnusable = 3 // flv probe: the report is on a part of the file
)

// An exitError carries an exit code other than ExitUsage, which is that of every
// other error. err is nil when everything has been printed already.
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

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if cmd.HasSubCommands() {
			return fmt.Errorf("unknown command %q; see %s --help", args[0], cmd.CommandPath())
		}
		return fmt.Errorf("%s takes no arguments, got %q", strings.TrimPrefix(cmd.CommandPath(), "sluice "), args[0])
	}
	return nil
}
