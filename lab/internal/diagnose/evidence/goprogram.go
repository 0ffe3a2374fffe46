package evidence

import (
	"debug/buildinfo"
	"debug/elf"
	"debug/gosym"
	"fmt"
	"os"
	"runtime/debug"
)

// goInfo is empty for a process that is not written in Go, or cannot be looked at.
func goInfo(pid int) (info debug.BuildInfo) {
	if found, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
		info = *found
	}
	return info
}

// openGo reads the table of functions of a Go program, which is there in stripped programs too.
func openGo(file *elf.File) (*gosym.Table, error) {
	table, text := file.Section(".gopclntab"), file.Section(".text")
	if table == nil {
		table = file.Section(".data.rel.ro.gopclntab")
	}
	if table == nil || text == nil {
		return nil, missing("the program has no table of Go's functions")
	}
	start := text.Addr
	symbols, _ := file.Symbols() // stripped programs have none
	for _, s := range symbols {
		if s.Name == "runtime.text" {
			start = s.Value
		}
	}
	lines, err := table.Data()
	if err != nil {
		return nil, err
	}
	var funcs *gosym.Table
	err = guarded("table of functions", func() error {
		funcs, err = gosym.NewTable(nil, gosym.NewLineTable(lines, start))
		return err
	})
	return funcs, err
}

// goNames names the addresses of a process that is written in Go; nil when it cannot.
func goNames(pid int) *goFunctions {
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	path, err := os.Readlink(exe)
	if err != nil {
		return nil
	}
	file, err := elf.Open(exe)
	if err != nil {
		return nil
	}
	defer file.Close()
	bias, err1 := loadBias(pid, file)
	funcs, err2 := openGo(file)
	if err1 != nil || err2 != nil {
		return nil
	}
	g := &goFunctions{path: path, bias: bias, funcs: funcs, pcs: map[uint64]Frame{}}
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			g.shift = bias + p.Vaddr - p.Off
		}
	}
	return g
}

type goFunctions struct {
	path  string
	bias  uint64 // where the program was loaded, less where it was linked to
	shift uint64 // where its code was loaded, less where it stands in the file
	funcs *gosym.Table
	pcs   map[uint64]Frame
}

// frame names an address; a Frame without Func where it cannot.
func (g *goFunctions) frame(pc uint64) Frame {
	if f, known := g.pcs[pc]; known {
		return f
	}
	var f Frame
	if file, line, fn := g.funcs.PCToLine(pc - g.bias); fn != nil {
		f = Frame{Func: fn.Name, File: base(file), Line: max(line, 0)} // -1: it has none
		// The line of a call that was inlined is that of the other function.
		if own, begin, _ := g.funcs.PCToLine(fn.Entry); own != file || line < begin {
			f.File, f.Line = base(own), 0
		}
	}
	g.pcs[pc] = f
	return f
}

// entry is where the function of an address begins; 0 where that is not known.
func (g *goFunctions) entry(pc uint64) uint64 {
	if g == nil {
		return 0
	}
	if fn := g.funcs.PCToFunc(pc - g.bias); fn != nil {
		return fn.Entry + g.bias
	}
	return 0
}

// loadBias is how far from its linked address a program was loaded.
func loadBias(pid int, file *elf.File) (uint64, error) {
	if file.Type != elf.ET_DYN {
		return 0, nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	// The first mapping is that of the first segment, which begins at 0.
	var from uint64
	if _, err := fmt.Sscanf(string(text), "%x-", &from); err != nil {
		return 0, fmt.Errorf("the mappings of process %d: %w", pid, err)
	}
	return from, nil
}
