package flow

import (
	"cmp"
	"go/token"
	"slices"

	"github.com/sluice-go/sluice/vet/internal/effect"
	"golang.org/x/tools/go/ssa"
)

// Function returns what is wrong in fn, and what a call of it does.
func (a *Analysis) Function(fn *ssa.Function) ([]Finding, []effect.Effect) {
	r := a.function(fn)
	return r.findings, r.effects
}

func (a *Analysis) function(fn *ssa.Function) *result {
	if r, ok := a.done[fn]; ok {
		return r
	}
	// A recursive call has no known effects.
	r := &result{}
	a.done[fn] = r
	if len(fn.Blocks) == 0 {
		return r
	}
	for _, anon := range fn.AnonFuncs {
		a.function(anon)
	}
	s := newSummary(a, fn)
	for _, src := range a.sources(fn) {
		x := newExplorer(a, fn, src)
		x.run()
		r.findings = append(r.findings, x.verdict()...)
		s.add(x)
	}
	s.ends()
	r.effects = s.effects()
	return r
}

// verdict returns the faults, one for each kind and each end: only the first use is
// reported.
func (x *explorer) verdict() []Finding {
	if x.src.generic {
		return nil // whether there is a reference the caller knows
	}
	slices.SortStableFunc(x.found, func(f, g Finding) int { return cmp.Compare(f.Pos, g.Pos) })
	type key struct {
		c    Category
		end  token.Pos
		text string
	}
	seen := map[key]bool{}
	var list []Finding
	for _, f := range x.found {
		k := key{f.Category, f.End, ""}
		switch f.Category {
		case NotReleased:
			k.end = token.NoPos
		case Outlives:
			k.end, k.text = token.NoPos, f.EndText
		}
		if !seen[k] {
			seen[k] = true
			taken, _, _ := x.outcome()
			f.Never = taken == 0 && !x.escaped && !x.gaveUp
			list = append(list, f)
		}
	}
	return append(list, x.inconsistent()...)
}
