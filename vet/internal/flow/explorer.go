package flow

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// An explorer follows one resource.
type explorer struct {
	*Analysis
	fn  *ssa.Function
	src *Source

	ids   map[ssa.Value]int
	asked tested
	seen  map[*ssa.BasicBlock]map[string]*state
	work  []arrival
	found []Finding
	exits []exit

	// gaveUp: the search is not complete. escaped: on some path the resource
	// went where it cannot be followed.
	gaveUp, escaped bool
	// kept: where a parameter is stored for longer than the call.
	kept token.Pos
}

type arrival struct {
	block *ssa.BasicBlock
	state *state
}

// exit is one way out of the function.
type exit struct {
	status   Status
	at       ssa.Instruction
	ret      *ssa.Return // nil for a panic
	returned []returned
	failed   tri  // whether the function's error is set
	replaced bool // the memory that the resource came in holds something else now
}

type returned struct {
	result int
	path   string
	rel    rel
}

type tri int8

const (
	unknown tri = iota
	yes
	no
)

func newExplorer(a *Analysis, fn *ssa.Function, src *Source) *explorer {
	return &explorer{Analysis: a, fn: fn, src: src, ids: map[ssa.Value]int{}, asked: a.testedIn(fn), seen: map[*ssa.BasicBlock]map[string]*state{}}
}

// borrowed reports whether the resource is not the function's own.
func (x *explorer) borrowed() bool {
	return x.src.Kind == Borrow || x.src.Kind == View || x.src.Kind == Lent
}

// pooled reports whether the resource has no reference count: it ends when it is put
// into a pool, and passing it on transfers nothing.
func (x *explorer) pooled() bool {
	return x.src.Kind == Pool || (x.src.Kind == Found || x.src.Kind == Param) && !x.owned(x.src.Type)
}

// takes reports whether an unknown function might take the reference that it is
// given.
func (x *explorer) takes() bool {
	return !x.pooled()
}

// resultError returns what is known of the function's error at ret.
func (x *explorer) resultError(ret *ssa.Return, s *state) tri {
	if len(ret.Results) == 0 {
		return unknown
	}
	v := ret.Results[len(ret.Results)-1]
	if !isError(v.Type()) {
		return unknown
	}
	if k, ok := v.(*ssa.Const); ok && k.IsNil() {
		return no
	}
	if known, ok := s.conds[nilCond(v)]; ok {
		if known {
			return no
		}
		return yes
	}
	if freshError(v) {
		return yes
	}
	return unknown
}

// freshError reports whether v is certainly an error that is set.
func freshError(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.MakeInterface:
		return true
	case *ssa.UnOp:
		_, global := v.X.(*ssa.Global)
		return v.Op == token.MUL && global
	case *ssa.Call:
		callee := v.Call.StaticCallee()
		if callee == nil || callee.Pkg == nil {
			return false
		}
		name := callee.Pkg.Pkg.Path() + "." + callee.Name()
		return name == "fmt.Errorf" || name == "errors.New"
	}
	return false
}

func hasBool(results *types.Tuple) bool {
	for v := range results.Variables() {
		if isBool(v.Type()) {
			return true
		}
	}
	return false
}
