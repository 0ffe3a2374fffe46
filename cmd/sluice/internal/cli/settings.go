package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// settingFlags are the flags of all settings, as given.
type settingFlags struct {
	config config.Config // defaults, and what flags say
	file   string
	json   bool
}

// A settingFlag is the value of a setting's flag.
type settingFlag struct {
	config.Setting
	given bool
}

// Set takes what a flag says. A flag for a list may be given several times.
func (f *settingFlag) Set(text string) error {
	if f.given && f.Type() == "list" {
		text = f.String() + "," + text
	}
	f.given = true
	return f.Setting.Set(text)
}

func newSettingFlags() *settingFlags { return &settingFlags{config: config.Default()} }

// addTo adds the flags of all settings and --config to cmd. It returns them by group.
func (f *settingFlags) addTo(cmd *cobra.Command) map[string]*pflag.FlagSet {
	groups := map[string]*pflag.FlagSet{}
	for _, s := range f.config.Settings() {
		group := groups[s.Group]
		if group == nil {
			group = pflag.NewFlagSet(s.Group, pflag.ContinueOnError)
			group.SortFlags = false
			groups[s.Group] = group
		}
		flag := &pflag.Flag{Name: s.Name, Usage: s.Usage, Value: &settingFlag{Setting: s}, DefValue: s.String()}
		if s.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
		group.AddFlag(flag)
		cmd.Flags().AddFlag(flag)
	}
	cmd.Flags().StringVar(&f.file, "config", "", "take settings from this YAML `file`")
	return groups
}

// resolve builds the configuration from the defaults, the file, the environment
// and the flags that were given. A later source overrides an earlier one.
func (f *settingFlags) resolve(flags *pflag.FlagSet, getenv func(string) string) (config.Config, error) {
	c := config.Default()
	file, where := f.file, "--config"
	if !flags.Changed("config") {
		file, where = getenv(envConfig), "$"+envConfig
	}
	if file != "" {
		if err := c.ReadFile(file); err != nil {
			return c, fmt.Errorf("%s: %w", where, err)
		}
	}
	if err := c.ReadEnv(getenv); err != nil {
		return c, err
	}
	for _, s := range c.Settings() {
		if flag := flags.Lookup(s.Name); flag.Changed {
			if err := s.Set(flag.Value.String()); err != nil {
				return c, fmt.Errorf("--%s: %w", s.Name, err)
			}
			c.SetBy(s.Name, "--"+s.Name)
		}
	}
	return c, c.Check()
}

// envConfig is the environment variable for --config.
const envConfig = "SLUICE_CONFIG"
