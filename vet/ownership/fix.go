package ownership

import (
	"golang.org/x/tools/go/analysis"

	"github.com/sluice-go/sluice/vet/internal/flow"
)

func fixes(pass *analysis.Pass, f flow.Finding) []analysis.SuggestedFix { return nil }
