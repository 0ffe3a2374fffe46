package flow

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// builtin runs append, copy and their like.
func (x *explorer) builtin(in *ssa.Call, b *ssa.Builtin, s *state) {
	args := in.Call.Args
	adds := map[holder]rel{}
	switch b.Name() {
	case "append":
		elem := in.Type().Underlying().(*types.Slice).Elem()
		for i, v := range args {
			for h, r := range s.holders {
				if h.cell || h.Root != v {
					continue
				}
				if i == 0 {
					if h.Path == "" {
						x.touch(in, v, s)
					}
					adds[holder{Place{in, h.Path}, false}] = r
				} else if isScalar(elem) {
					x.touch(in, v, s)
				} else {
					path := h.Path
					if path == "" {
						path = "[]"
					}
					adds[holder{Place{in, path}, false}] = r
				}
			}
		}
	case "copy", "string", "print", "println":
		for _, v := range args {
			x.touch(in, v, s)
		}
	case "String", "StringData", "Slice", "SliceData": // of package unsafe
		if r, ok := x.related(args[0], s); ok {
			adds[holder{Place{in, ""}, false}] = max(r, viewOf)
		}
	case "clear":
	}
	s.forget(in)
	for h, r := range adds {
		s.holders[h] = r
	}
}

// neverReturn are functions of other packages after which nothing happens.
var neverReturn = map[string]bool{
	"os.Exit": true, "runtime.Goexit": true, "log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true,
	"log.Panic": true, "log.Panicf": true, "log.Panicln": true,
	"testing.Fatal": true, "testing.Fatalf": true, "testing.FailNow": true, "testing.Skip": true, "testing.Skipf": true, "testing.SkipNow": true,
}

// never reports whether a call does not come back.
func (x *explorer) never(c *ssa.CallCommon) bool {
	if c.IsInvoke() {
		return c.Method.Pkg() != nil && neverReturn[c.Method.Pkg().Name()+"."+c.Method.Name()] && c.Method.Pkg().Path() == "testing"
	}
	callee := c.StaticCallee()
	if callee == nil || callee.Object() == nil || callee.Object().Pkg() == nil {
		return false
	}
	pkg := callee.Object().Pkg()
	if len(callee.Blocks) == 0 {
		return pkg.Path() == pkg.Name() && neverReturn[pkg.Path()+"."+callee.Name()]
	}
	for _, b := range callee.Blocks {
		if _, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
			return false
		}
	}
	return callee.Recover == nil
}
