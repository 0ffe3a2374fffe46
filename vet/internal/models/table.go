// Package models holds the table of functions that lend, keep and take memory: this
// library and those that it knows, and what users add in a file.
//
// The format is one line a function:
//
//	package bufio
//	Reader.Peek   result 0 borrowed from recv, recv ends
//
// docs/library/vet.md has all of it.
package models

import (
	"bytes"
	"embed"
	"fmt"
	"go/types"
	"io/fs"
	"iter"
	"os"
	"strings"

	"github.com/sluice-go/sluice/vet/internal/effect"
)

//go:embed *.models
var files embed.FS

// TypeKind is what the table knows of a type.
type TypeKind int

const (
	// Plain types mean nothing.
	Plain TypeKind = iota
	// Owned values stand for a reference that has to be released.
	Owned
	// Single values are owned, and must not be copied either.
	Single
	// Call values, as parameters, are borrowed until the function returns.
	Call
)

var typeWords = [...]string{Plain: "", Owned: "owned", Single: "single", Call: "call"}

// A Table of models. It is not changed once it is in use, and then safe for
// concurrent use.
type Table struct {
	packages map[string]bool
	types    map[string]TypeKind
	funcs    map[string][]effect.Effect
	lines    []line // of the user's file
}

// Default returns a new table of what the tool knows by itself.
func Default() *Table {
	t := &Table{packages: map[string]bool{}, types: map[string]TypeKind{}, funcs: map[string][]effect.Effect{}}
	names, err := fs.Glob(files, "*.models")
	for _, name := range names {
		var text []byte
		if text, err = files.ReadFile(name); err == nil {
			err = t.Parse(name, bytes.NewReader(text))
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		panic(fmt.Sprintf("sluicevet: built-in models: %v", err))
	}
	t.lines = nil // a version of a package may lack what another has
	return t
}

// Load adds the file name to the table.
func (t *Table) Load(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("models: %w", err)
	}
	defer f.Close()
	return t.Parse(name, f)
}

// Package reports whether the table has models for the package.
func (t *Table) Package(path string) bool { return t.packages[path] }

// Func returns the effects of f, and whether the table knows it.
func (t *Table) Func(f *types.Func) ([]effect.Effect, bool) {
	if f.Pkg() == nil || !t.packages[f.Pkg().Path()] {
		return nil, false
	}
	list, ok := t.funcs[Key(f)]
	return list, ok
}

// Keys yields the functions of the table whose packages are in the tree of path.
func (t *Table) Keys(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for key := range t.funcs {
			if (strings.HasPrefix(key, path+".") || strings.HasPrefix(key, path+"/")) && !yield(key) {
				return
			}
		}
	}
}

// Key is the name of f as the table has it: package, type and name, without
// type arguments and pointers.
func Key(f *types.Func) string {
	f = f.Origin()
	key := f.Pkg().Path() + "."
	if recv := f.Signature().Recv(); recv != nil {
		if named := namedOf(recv.Type()); named != nil {
			key += named.Obj().Name() + "."
		} else {
			key += "?."
		}
	}
	return key + f.Name()
}

// Type returns what the table knows of t itself.
func (t *Table) Type(typ types.Type) TypeKind {
	named, ok := types.Unalias(typ).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return Plain
	}
	return t.types[named.Obj().Pkg().Path()+"."+named.Obj().Name()]
}

func namedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}

// Field returns what a function is called with that is assigned to the field name
// of type t.
func (t *Table) Field(typ types.Type, name string) []effect.Effect {
	list, _ := t.Method(typ, name)
	return list
}

// Method returns the effects of a method under the name of type t, which may
// have it from a type that it embeds.
func (t *Table) Method(typ types.Type, name string) ([]effect.Effect, bool) {
	named := namedOf(typ)
	if named == nil || named.Obj().Pkg() == nil {
		return nil, false
	}
	list, ok := t.funcs[named.Obj().Pkg().Path()+"."+named.Obj().Name()+"."+name]
	return list, ok
}
