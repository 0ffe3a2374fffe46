package evidence

import (
	"context"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// The goroutines of a process are read from its memory, without stopping it: a goroutine
// that waits does not change, and one that runs meanwhile is seen wrongly at one of many
// moments. Where they are is known from the symbols and the DWARF of the program.

const (
	memoryEvery  = 10 * time.Millisecond
	framesWalked = 64
	mostListed   = 1 << 20
	// mostWalked is how many stacks of one moment are walked. Of the goroutines behind them one that began
	// and waits where one of these does, with as much on its stack, has the same.
	mostWalked = 4096
)

// A goLayout says where things are in the memory of a program.
type goLayout struct {
	order   binary.ByteOrder
	allgs   uint64 // the slice of all goroutines
	reasons uint64 // the array of the names of reasons
	size    int    // of a g as far as it is read
	offset  map[string]int
}

func layoutOf(file *elf.File) (*goLayout, error) {
	if file.Class != elf.ELFCLASS64 {
		return nil, missing("it is no program of 64 bits")
	}
	l := &goLayout{order: file.ByteOrder, offset: map[string]int{}}
	symbols, err := file.Symbols()
	if err != nil {
		return nil, missing("the program is stripped of its symbols, as with -ldflags=-s and by go run")
	}
	for _, s := range symbols {
		switch s.Name {
		case "runtime.allgs":
			l.allgs = s.Value
		case "runtime.waitReasonStrings":
			l.reasons = s.Value
		}
	}
	if l.allgs == 0 || l.reasons == 0 {
		return nil, missing("the program has no symbols of Go's runtime")
	}
	return l, l.fields(file)
}

func (l *goLayout) fields(file *elf.File) error {
	noDWARF := missing("the program is built without DWARF (-ldflags=-w)")
	data, err := file.DWARF()
	if err != nil {
		return noDWARF
	}
	for r := data.Reader(); ; {
		entry, err := r.Next()
		if err != nil || entry == nil {
			return noDWARF
		}
		name, _ := entry.Val(dwarf.AttrName).(string)
		if entry.Tag == dwarf.TagSubprogram {
			r.SkipChildren()
		}
		if entry.Tag != dwarf.TagStructType || name != "runtime.g" {
			continue
		}
		typ, err := data.Type(entry.Offset)
		g, ok := typ.(*dwarf.StructType)
		if err != nil || !ok {
			return noDWARF
		}
		for _, f := range g.Field {
			l.offset[f.Name] = int(f.ByteOffset)
			if inner, ok := f.Type.(*dwarf.TypedefType); ok {
				f.Type = inner.Type
			}
			if inner, ok := f.Type.(*dwarf.StructType); ok {
				for _, in := range inner.Field {
					l.offset[f.Name+"."+in.Name] = int(f.ByteOffset + in.ByteOffset)
				}
			}
		}
		for _, name := range []string{"atomicstatus", "waitreason", "sched.pc", "sched.bp", "syscallpc", "syscallbp", "startpc", "stack", "goid"} {
			at, ok := l.offset[name]
			if !ok {
				return missing("this version of Go keeps its goroutines in another form: a g without %s", name)
			}
			l.size = max(l.size, at+16)
		}
		return nil
	}
}

type goMemory struct {
	*goLayout
	*goFunctions
	mem     io.ReaderAt
	stacks  map[string][]Frame
	texts   map[uint8]string
	scratch []uint64
}

func sampleGoroutines(ctx context.Context, pid int, d time.Duration) (*Waits, error) {
	file, err := elf.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil, missing("%v", err)
	}
	defer file.Close()
	layout, err := layoutOf(file)
	if err != nil {
		return nil, err
	}
	names := goNames(pid)
	if names == nil {
		return nil, missing("the program's functions cannot be read")
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			return nil, missing("the memory of the process may be read by its owner or root, as kernel.yama.ptrace_scope allows")
		}
		return nil, err
	}
	defer mem.Close()
	m := &goMemory{goLayout: layout, goFunctions: names, mem: mem, stacks: map[string][]Frame{}, texts: map[uint8]string{}}
	set := newWaitSet()
	began := time.Now()
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for time.Since(began) < d && ctx.Err() == nil {
		now, err := m.all()
		if err != nil {
			if set.waits.Samples == 0 {
				return nil, fmt.Errorf("reading the goroutines of process %d: %w", pid, err)
			}
			break // it has ended
		}
		if len(now) > 0 {
			set.add(now)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	if set.waits.Samples == 0 {
		return nil, errors.New("the process has no goroutines yet")
	}
	return set.sum(time.Since(began)), nil
}

func (m *goMemory) word(at uint64) (uint64, error) {
	var b [8]byte
	if _, err := m.mem.ReadAt(b[:], int64(at)); err != nil {
		return 0, err
	}
	return m.order.Uint64(b[:]), nil
}

// States of a goroutine: the constants _Grunnable and so on of runtime/runtime2.go.
var goStates = map[uint32]goState{1: goRunnable, 2: goRunning, 3: goSyscall, 4: goWaiting}

// A goSpot is what is seen of a goroutine without walking its stack.
type goSpot struct {
	state  goState
	reason byte
	start  uint64
	pc     uint64
	depth  uint64 // of its stack, in bytes
}

// all looks at all goroutines of the program itself.
func (m *goMemory) all() (now crowd, err error) {
	from, err := m.word(m.allgs + m.bias)
	if err != nil {
		return nil, err
	}
	n, err := m.word(m.allgs + m.bias + 8)
	if err != nil || n > mostListed {
		return nil, fmt.Errorf("%d goroutines: %w", n, errors.Join(err, ErrTooLarge))
	}
	list := make([]byte, 8*n)
	if _, err := m.mem.ReadAt(list, int64(from)); err != nil {
		return nil, nil // the list was moved at this moment
	}
	now = crowd{}
	walked, alike := 0, map[goSpot]*moment{}
	g := make([]byte, m.size)
	for i := range n {
		if _, err := m.mem.ReadAt(g, int64(m.order.Uint64(list[8*i:]))); err != nil {
			continue
		}
		field := func(name string) uint64 { return m.order.Uint64(g[m.offset[name]:]) }
		state, live := goStates[m.order.Uint32(g[m.offset["atomicstatus"]:])&^0x1000] // 0x1000: its stack is being scanned
		if !live || isRuntimes(m.frame(field("startpc")).Func) {
			continue
		}
		if state == goRunnable || state == goRunning {
			now.add(state, "", nil, field("goid"))
			continue
		}
		reason, pc, bp := ReasonSyscall, field("syscallpc"), field("syscallbp")
		if state == goWaiting {
			reason, pc, bp = m.reason(g[m.offset["waitreason"]]), field("sched.pc"), field("sched.bp")
		}
		spot := goSpot{state, g[m.offset["waitreason"]], field("startpc"), pc, m.order.Uint64(g[m.offset["stack"]+8:]) - bp}
		if like := alike[spot]; like != nil && walked >= mostWalked {
			like.count++
			continue
		}
		walked++
		frames := m.walk(pc, bp)
		if isMeasuring(frames) {
			continue
		}
		if state == goWaiting {
			frames = trimPark(frames)
		}
		if mo := now.add(state, reason, frames, field("goid")); alike[spot] == nil {
			alike[spot] = mo
		}
	}
	return now, nil
}

// reason is the name of a reason, which the runtime has in an array of strings.
func (m *goMemory) reason(number uint8) string {
	if text, known := m.texts[number]; known {
		return text
	}
	text := "unknown"
	at, err := m.word(m.reasons + m.bias + 16*uint64(number))
	n, err2 := m.word(m.reasons + m.bias + 16*uint64(number) + 8)
	if err == nil && err2 == nil && n < 100 {
		b := make([]byte, n)
		if _, err := m.mem.ReadAt(b, int64(at)); err == nil {
			text = string(b)
		}
	}
	m.texts[number] = text
	return text
}

// walk follows the frame pointers. The frames are one slice for one stack.
func (m *goMemory) walk(pc, bp uint64) []Frame {
	m.scratch = append(m.scratch[:0], pc)
	for range framesWalked {
		if bp == 0 {
			break
		}
		var b [16]byte
		if _, err := m.mem.ReadAt(b[:], int64(bp)); err != nil {
			break
		}
		next := m.order.Uint64(b[:])
		if pc = m.order.Uint64(b[8:]); pc == 0 {
			break
		}
		m.scratch = append(m.scratch, pc)
		if next <= bp {
			break
		}
		bp = next
	}
	key := fmt.Sprint(m.scratch)
	if frames, known := m.stacks[key]; known {
		return frames
	}
	var frames []Frame
	for _, pc := range m.scratch {
		if f := m.frame(pc - 1); f.Func != "" && f.Func != "runtime.goexit" { // a return address is behind the call
			frames = append(frames, f)
		}
	}
	if len(m.stacks) < distinctStacks {
		m.stacks[key] = frames
	}
	return frames
}
