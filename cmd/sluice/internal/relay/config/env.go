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
		c.SetBy(s.Name, "$"+s.Env())
	}
	return nil
}

// SecretVariables are the names of the environment variables that are secret.
func SecretVariables() []string {
	var c Config
	var names []string
	for _, s := range c.Secrets() {
		names = append(names, s.Env())
	}
	return names
}
