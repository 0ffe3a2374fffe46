package flow

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

// consumed finds what a call ends that no other source stands for: memory from
// a field, or something that goes into a pool.
func (f *finder) consumed(in ssa.CallInstruction) {
	c := in.Common()
	effects, _ := f.Effects(c)
	for _, e := range effects {
		if e.Kind != effect.Released && e.Kind != effect.Transferred {
			continue
		}
		switch v := operand(c, e.Operand); {
		case v == nil || isTypeParam(v.Type()):
		case e.Path == "":
			f.origin(v, 8)
		default:
			f.endedPart(in, f.at(v, e.Path))
		}
	}
}

// origin adds the source of a consumed value.
func (f *finder) origin(v ssa.Value, n int) {
	if n == 0 || f.covered[v] {
		return
	}
	src := Source{Kind: Found, Value: v, Result: -1, Type: v.Type(), Text: "it", Pos: v.Pos(), Operand: effect.None}
	switch v := v.(type) {
	case *ssa.MakeInterface:
		f.origin(v.X, n-1)
	case *ssa.ChangeType:
		f.origin(v.X, n-1)
	case *ssa.TypeAssert:
		f.origin(v.X, n-1)
	case *ssa.Slice:
		if alloc, ok := v.X.(*ssa.Alloc); ok && alloc.Comment == "makeslice" {
			src.Start, src.Text = v, "make" // of a constant size
			f.add(src)
			return
		}
		f.origin(v.X, n-1)
	case *ssa.Phi:
		for _, e := range v.Edges {
			f.origin(e, n-1)
		}
	case *ssa.Parameter:
		src.Text = v.Name()
		src.Operand = paramNumber(v)
		src.Kind = Param
		f.add(src)
	case *ssa.FieldAddr:
		place := f.point(v)
		if strings.Contains(place.Path, "[]") || f.places[place] || f.local(place.Root) {
			return
		}
		f.places[place] = true
		src.Start, src.cell, src.place, src.Text = v, true, place, fieldName(v.X.Type(), v.Field)
		f.add(src)
	case *ssa.UnOp:
		if v.Op != token.MUL {
			return
		}
		place := f.point(v.X)
		if alloc, ok := v.X.(*ssa.Alloc); ok {
			f.stores(alloc, n)
			return
		}
		if strings.Contains(place.Path, "[]") || f.places[place] || f.local(place.Root) {
			return
		}
		f.places[place] = true
		src.Start, src.place = v, place
		f.add(src)
	case *ssa.Call:
		if v.Call.Signature().Results().Len() == 1 {
			src.Start, src.Text = v, text(v)
			f.add(src)
		}
	case *ssa.MakeSlice:
		src.Start, src.Text = v, "make"
		f.add(src)
	case *ssa.Alloc:
		if v.Heap && !f.owned(v.Type()) {
			src.Start, src.Text = v, "new"
			f.add(src)
		}
	}
}

// stores adds the sources of what a local variable was assigned.
func (f *finder) stores(alloc *ssa.Alloc, n int) {
	for _, r := range *alloc.Referrers() {
		if st, ok := r.(*ssa.Store); ok && st.Addr == alloc {
			f.origin(st.Val, n-1)
		}
	}
}

// local reports whether the root is followed by another source anyway.
func (f *finder) local(root ssa.Value) bool {
	switch root := root.(type) {
	case *ssa.Parameter, *ssa.FreeVar:
		return f.covered[root]
	case *ssa.Global:
		return false
	}
	return true
}

// endedPart adds what a call has released of an operand, for uses that follow.
func (f *finder) endedPart(in ssa.CallInstruction, place Place) {
	call, ok := in.(*ssa.Call)
	if !ok || strings.Contains(place.Path, "[]") || f.local(place.Root) {
		return
	}
	t := typeAt(place.Root.Type(), place.Path)
	if t == nil {
		return
	}
	name := strings.Trim(place.Path[strings.LastIndexByte(place.Path, '.')+1:], "*")
	f.list = append(f.list, &Source{
		Kind: Found, Start: call, Value: call, Result: -1, Type: t, Text: name, Pos: in.Pos(), Operand: effect.None,
		cell: true, place: place, ended: true,
	})
}

// typeAt is the type of what path leads to from a value of type t, nil when that is
// not by fields and pointers only.
func typeAt(t types.Type, path string) types.Type {
	for path != "" && t != nil {
		if path[0] == '*' {
			p, ok := t.Underlying().(*types.Pointer)
			if !ok {
				return nil
			}
			t, path = p.Elem(), path[1:]
			continue
		}
		s, ok := elem(t.Underlying()).Underlying().(*types.Struct)
		if !ok || path[0] != '.' {
			return nil
		}
		name := path[1:]
		if end := strings.IndexAny(name, ".*[#"); end >= 0 {
			name = name[:end]
		}
		t, path = nil, path[1+len(name):]
		for f := range s.Fields() {
			if f.Name() == name {
				t = f.Type()
			}
		}
	}
	return t
}
