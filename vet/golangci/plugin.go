// Package golangci makes sluicevet a linter of golangci-lint, through its module
// plugin system: build golangci-lint with this package among its plugins
// (golangci-lint custom), and name sluicevet under linters. docs/library/vet.md has both
// files.
package golangci

import (
	"fmt"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/sluice-go/sluice/vet/ownership"
)

func init() { register.Plugin("sluicevet", New) }

// settings are what .golangci.yml has under the linter's settings.
type settings struct {
	Models string `json:"models"`
	Tests  bool   `json:"tests"`
}

type plugin struct{ analyzer *analysis.Analyzer }

// New returns the linter. Its settings are models, a file, and tests; another
// one, or a fault in the models' file, is an error.
func New(conf any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](conf)
	if err != nil {
		return nil, fmt.Errorf("sluicevet: %w", err)
	}
	a, err := ownership.New(ownership.Options{Models: s.Models, Tests: s.Tests})
	if err != nil {
		return nil, fmt.Errorf("sluicevet: %w", err)
	}
	return plugin{a}, nil
}

// BuildAnalyzers implements register.LinterPlugin.
func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return []*analysis.Analyzer{p.analyzer}, nil
}

// GetLoadMode implements register.LinterPlugin: types are needed.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
