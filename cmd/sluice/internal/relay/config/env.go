package config

import "fmt"

// ReadEnv reads settings from the environment through getenv. An empty variable
// counts as unset. An error names the variable.
func (c *Config) ReadEnv(getenv func(string) string) error {
	for _, s := range c.all() {
		text := getenv(s.Env())
		if text == "" {
			continue
		}
		if err := s.Set(text); err != nil {
			return fmt.Errorf("$%s: %w", s.Env(), err)
		}
		c.place(s.Name, "$"+s.Env())
	}
	return nil
}

func (c *Config) place(setting, where string) {
	if c.places == nil {
		c.places = map[string]string{}
	}
	c.places[setting] = where
}
