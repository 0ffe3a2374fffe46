package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

func (a App) config() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Check a configuration, and show what is in force",
		Example: "  sluice config show --config /etc/sluice.yaml",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	check := &cobra.Command{
		Use:   "check FILE",
		Short: "Say what is wrong with a configuration file",
		Long: `check reads a configuration file as serve does, together with the environment, and
prints everything that is wrong with it, a line each: FILE:LINE:COLUMN, the setting,
and what it takes. It starts nothing.

Exit codes: 0 serve would take it; 1 it would not; 2 wrong command line.`,
		Example: "  sluice config check /etc/sluice.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("config check: want one file, got %q", args)
			}
			return a.checkConfig(args[0])
		},
	}
	f := newSettingFlags()
	show := &cobra.Command{
		Use:   "show [flags of serve]",
		Short: "Print every setting that serve would have, and where it comes from",
		Long: `show prints the settings that serve would have with the same flags, environment
and file: as YAML that --config takes, with the place that each comes from behind it.
Of secrets it prints only whether they are set.`,
		Example: "  sluice config show --config /etc/sluice.yaml --merge 40ms",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.resolve(cmd.Flags(), os.Getenv)
			if err != nil {
				return fmt.Errorf("config show: %w", err)
			}
			return a.showConfig(c)
		},
	}
	f.addTo(show)
	cmd.AddCommand(check, show)
	return cmd
}

func (a App) checkConfig(name string) error {
	c := config.Default()
	err := c.ReadFile(name)
	if err == nil {
		err = errors.Join(c.ReadEnv(os.Getenv), c.Check())
	}
	if err == nil {
		return nil
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(a.Stderr, "%s\n", strings.TrimSpace(line))
	}
	return &exitError{ExitFailure, nil}
}

func (a App) showConfig(c config.Config) error {
	var b strings.Builder
	group := ""
	for _, s := range c.Settings() {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n# %s\n", group)
		}
		value := s.String()
		number := value != "" && strings.Trim(value, "0123456789") == ""
		if s.Type() != "bool" && !number {
			quoted, err := yaml.Marshal(value)
			if err != nil {
				return fail(fmt.Errorf("config show: %s: %w", s.Name, err))
			}
			value = strings.TrimSpace(string(quoted))
		}
		from := c.Place(s.Name)
		if from == "" {
			from = "default"
		}
		fmt.Fprintf(&b, "%-40s # %s\n", s.Name+": "+value, from)
	}
	for _, s := range c.Secrets() {
		state := "not set"
		if s.String() != "" {
			state = "set"
		}
		fmt.Fprintf(&b, "# %s: %s\n", s.Env(), state)
	}
	if _, err := a.Stdout.Write([]byte(strings.TrimPrefix(b.String(), "\n"))); err != nil {
		return fail(err)
	}
	return nil
}
