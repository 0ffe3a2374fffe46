package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The examples of a cluster name settings, with values that fit together.
func TestExamplesOfAClusterFit(t *testing.T) {
	for _, name := range []string{"cluster.yaml", "sluice-cluster.conf"} {
		text, err := os.ReadFile(filepath.Join("../../../../../deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		c := Default()
		all := map[string]Setting{}
		for _, s := range c.Settings() {
			all[s.Env()] = s
		}
		found := regexp.MustCompile(`(?m)^\s*(?:Environment=)?(SLUICE_[A-Z_]+)(?:: ?|=)(.*)$`).FindAllStringSubmatch(string(text), -1)
		if len(found) < 6 {
			t.Fatalf("%s has %d settings", name, len(found))
		}
		for _, m := range found {
			s, ok := all[m[1]]
			value := strings.Trim(m[2], `"`)
			if slices.Contains(SecretVariables(), m[1]) {
				continue
			}
			if !ok {
				t.Errorf("%s: %s is no setting", name, m[1])
			} else if err := s.Set(value); err != nil {
				t.Errorf("%s: %s: %v", name, m[1], err)
			}
		}
		c.ClusterSecret = strings.Repeat("x", 64)
		if err := c.Check(); err != nil || !c.Cluster || c.PlayURL == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
