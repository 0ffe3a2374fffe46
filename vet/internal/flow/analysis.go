// Package flow follows one piece of memory at a time through a function:
// from where it was lent or handed over, along every path, to where its use
// ends. Paths are distinguished by what has happened to the memory and by the
// conditions that were tested meanwhile, so that a release under a condition
// and its counterpart under the opposite one are understood.
//
// It prefers silence: where it cannot name memory, or an unknown function may have
// taken it, it stops.
package flow

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
	"github.com/sluice-go/sluice/vet/internal/models"
)

// An Analysis analyses one package. It belongs to one goroutine.
type Analysis struct {
	Models *models.Table
	Fset   *token.FileSet
	// Fact returns the effects of a function of another package, and whether its
	// package was analysed.
	Fact func(*types.Func) ([]effect.Effect, bool)

	done   map[*ssa.Function]*result
	tested map[*ssa.Function]tested
	// callbacks are the functions that are assigned to fields of the table.
	callbacks map[types.Object][]effect.Effect
	literals  map[*ssa.Function][]effect.Effect
}

// result holds the findings and effects of one function.
type result struct {
	effects  []effect.Effect
	findings []Finding
}

// New returns an analysis that has not analysed a function yet.
func New(t *models.Table, fset *token.FileSet, fact func(*types.Func) ([]effect.Effect, bool)) *Analysis {
	return &Analysis{Models: t, Fset: fset, Fact: fact, done: map[*ssa.Function]*result{}, tested: map[*ssa.Function]tested{}}
}

// Effects returns what a call does, and whether that is known at all.
func (a *Analysis) Effects(c *ssa.CallCommon) (list []effect.Effect, known bool) {
	if c.IsInvoke() {
		return a.methodEffects(c)
	}
	callee := c.StaticCallee()
	if callee == nil {
		return nil, false
	}
	if origin := callee.Origin(); origin != nil {
		list, known = a.effectsOf(origin)
		return a.instantiated(c, origin, list, known)
	}
	return a.effectsOf(callee)
}

// effectsOf is Effects of a function.
func (a *Analysis) effectsOf(callee *ssa.Function) (list []effect.Effect, known bool) {
	if f, ok := callee.Object().(*types.Func); ok {
		if list, ok := a.Models.Func(f); ok {
			return list, true
		}
		if len(callee.Blocks) == 0 {
			return a.Fact(f)
		}
	}
	if len(callee.Blocks) == 0 {
		return nil, false
	}
	return a.function(callee).effects, true
}

// methodEffects looks up a method of an interface, under the name of the
// interface that declares it and of the one that embeds that.
func (a *Analysis) methodEffects(c *ssa.CallCommon) ([]effect.Effect, bool) {
	if list, ok := a.Models.Func(c.Method); ok {
		return list, true
	}
	return a.Models.Method(c.Value.Type(), c.Method.Name())
}

// tested holds, for each block of a function, the conditions that are asked for
// from there on, behind its phis: by an if, by a phi that takes the value over, by
// the return of an error. Others need not be kept, and would only make states differ.
type tested map[*ssa.BasicBlock]map[cond]bool
