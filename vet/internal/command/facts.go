package command

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/sluice-go/sluice/vet/internal/driver"
)

// factsOfStandard does what the go command asks when args name a package of the
// standard library that is not to be checked, only to be known: it writes that there
// are no facts. The table has the functions that matter. It reports whether that is
// done.
func factsOfStandard(args []string) (done bool, err error) {
	if len(args) == 0 || !strings.HasSuffix(args[len(args)-1], ".cfg") {
		return false, nil
	}
	text, err := os.ReadFile(args[len(args)-1])
	if err != nil {
		return false, err
	}
	var unit struct {
		ImportPath string
		ModulePath string
		Module     *struct{}
		VetxOnly   bool
		VetxOutput string
	}
	if err := json.Unmarshal(text, &unit); err != nil {
		return false, err
	}
	standard := unit.ModulePath == "" && unit.Module == nil && driver.IsStandard(unit.ImportPath)
	if !standard || !unit.VetxOnly || unit.VetxOutput == "" {
		return false, nil
	}
	return true, os.WriteFile(unit.VetxOutput, nil, 0o666)
}
