package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pattern"
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
and what it takes. Variables SLUICE_... of the environment that no setting has are a
warning. It starts nothing.

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
	stream := ""
	show := &cobra.Command{
		Use:                   "show [--stream APP/NAME] [flags of serve]",
		DisableFlagsInUseLine: true,
		Short:                 "Print the settings that serve would have, and where they come from",
		Long: `show prints the settings that serve would have with the same flags, environment
and file: as YAML that --config takes, with the place that each comes from behind it.
Of secrets it prints only whether they are set. With --stream it prints what is in
force for that stream, with the sections of the file whose pattern matches its name.`,
		Example: "  sluice config show --config /etc/sluice.yaml --stream live/cam1",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.resolve(cmd.Flags(), os.Getenv)
			if err != nil {
				return fmt.Errorf("config show: %w", err)
			}
			if stream != "" {
				if why := pattern.NameFault(stream); why != "" {
					return fmt.Errorf("config show: stream name %.60q %s", stream, why)
				}
				return a.showConfig(c.For(stream), nil)
			}
			return a.showConfig(&c, c.Sections())
		},
	}
	f.addTo(show)
	show.Flags().StringVar(&stream, "stream", "", "print what is in force for this `stream`: APP/NAME")
	cmd.AddCommand(check, show)
	return cmd
}

// yamlOf returns the value of a setting of this type as YAML has it.
func yamlOf(kind, value string) string {
	if kind == "bool" || value != "" && strings.Trim(value, "0123456789") == "" {
		return value
	}
	quoted, err := yaml.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("cli: a text that is no YAML: %v", err))
	}
	return strings.TrimSpace(string(quoted))
}

func (a App) checkConfig(name string) error {
	c := config.Default()
	err := c.ReadFile(name)
	if err == nil {
		err = errors.Join(c.ReadEnv(os.Getenv), c.Check(), relay.Check(&c))
	}
	for _, v := range strayVariables(&c, os.Environ()) {
		fmt.Fprintf(a.Stderr, "warning: %v\n", v)
	}
	if err == nil {
		return nil
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(a.Stderr, "%s\n", strings.TrimSpace(line))
	}
	return &exitError{ExitFailure, nil}
}

// showConfig prints settings, and sections with those of some streams.
func (a App) showConfig(c *config.Config, sections []config.Section) error {
	var b strings.Builder
	group := ""
	for _, s := range c.Settings() {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n# %s\n", group)
		}
		fmt.Fprintf(&b, "%-40s # %s\n", s.Name+": "+yamlOf(s.Type(), s.String()), cmp.Or(c.Place(s.Name), "default"))
	}
	if len(sections) > 0 {
		types := map[string]string{}
		for _, s := range c.Settings() {
			types[s.Name] = s.Type()
		}
		fmt.Fprint(&b, "\n# For some streams\nstreams:\n")
		for _, s := range sections {
			fmt.Fprintf(&b, "  %q:\n", s.Pattern)
			for _, v := range s.Values {
				fmt.Fprintf(&b, "    %-36s # %s\n", v.Name+": "+yamlOf(types[v.Name], v.Text), v.Place)
			}
		}
		fmt.Fprint(&b, "\n")
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
