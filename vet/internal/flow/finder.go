package flow

import "golang.org/x/tools/go/ssa"

type finder struct {
	*Analysis
	fn      *ssa.Function
	list    []*Source
	covered map[ssa.Value]bool // values that a source stands for
	places  map[Place]bool
}

func (f *finder) add(src Source) {
	f.covered[src.Value] = true
	f.list = append(f.list, &src)
}
