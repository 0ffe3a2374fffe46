package mem

import (
	"fmt"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/invariant"
)

// Level is how closely an allocator watches for references that were not
// released, and for releases of references that were not held.
type Level uint32

const (
	// LeakOff watches nothing; stale Bufs panic all the same.
	LeakOff Level = iota
	// LeakSample records where one Get in 128 was made. It is cheap enough
	// for production: about one atomic addition a Get.
	LeakSample
	// LeakTrace gives every reference, retained ones too, a token and the
	// stack that took it. Releasing a reference twice through a copy panics
	// and names both lines.
	LeakTrace
	// LeakParanoid is LeakTrace, and what comes home is overwritten and kept
	// back for a while: a late read sees 0xDB, and writing to it panics
	// when the block leaves the quarantine. Blocks above 4 MiB are overwritten
	// and go to the collector.
	LeakParanoid
)

const (
	sampleEvery = 128
	// sampleMost bounds the records that LeakSample keeps in a program that
	// leaks.
	sampleMost = 1 << 16
)

// leak is an allocator's record of the references that it watches.
type leak struct {
	level atomic.Uint32
	gets  atomic.Uint64

	mu   sync.Mutex
	seq  uint64 // of the latest watched reference
	refs map[*ref]struct{}
}

// A ref is one watched reference and the stack that took it.
type ref struct {
	seq   uint64
	size  int
	depth int
	pcs   [24]uintptr
}

// A track watches one checkout of one block.
type track struct {
	leak   *leak
	size   int
	tokens bool // every reference is watched, not only the checkout

	mu    sync.Mutex
	held  map[token]*ref
	ended map[token]*ref // references that were released, with the stack that did it
}

// A token identifies a Buf. That of a Slab's filler is the zero token.
type token struct {
	c   *cell
	key uint64
}

// SetLeak changes the level and returns the one before. It holds for what is
// handed out from then on.
func (a *Allocator) SetLeak(l Level) (before Level) {
	if l > LeakParanoid {
		panic(fmt.Sprintf("mem: SetLeak(%d): levels are 0 to %d", l, LeakParanoid))
	}
	before = Level(a.leak.level.Swap(uint32(l)))
	careful := l != LeakOff || a.budget.limit > 0
	poison := l == LeakParanoid || invariant.Enabled
	for i := range a.classes {
		a.classes[i].setFlag(flagCareful, careful)
		a.classes[i].setFlag(flagPoison, poison)
	}
	a.large.setFlag(flagPoison, poison)
	return before
}

// begin starts to watch b, which is being handed out with n bytes under key, if
// the level selects it.
func (l *leak) begin(b *block, n int, key uint64) {
	level := Level(l.level.Load())
	if level == LeakSample && (l.gets.Add(1)-1)%sampleEvery != 0 {
		return
	}
	if level == LeakOff || level == LeakSample && l.count() >= sampleMost {
		return
	}
	t := &track{leak: l, size: n, tokens: level >= LeakTrace, held: make(map[token]*ref)}
	b.track, b.own.tracked = t, true
	t.add(token{&b.own, key})
}

func (l *leak) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.refs)
}

// add watches one more reference.
func (t *track) add(tok token) {
	r := newRef(t.size)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held[tok] = r
	t.leak.mu.Lock()
	if t.leak.refs == nil {
		t.leak.refs = make(map[*ref]struct{})
	}
	t.leak.seq++
	r.seq = t.leak.seq
	t.leak.refs[r] = struct{}{}
	t.leak.mu.Unlock()
	profile.Add(r, 2)
}

func (t *track) forget(r *ref) {
	t.leak.mu.Lock()
	delete(t.leak.refs, r)
	t.leak.mu.Unlock()
	profile.Remove(r)
}

// watched returns the Buf of a new reference, which is watched if those of its
// cell are.
func (c *cell) watched(key uint64) Buf {
	if c.tracked {
		if t := c.block.track; t.tokens {
			t.add(token{c, key})
		}
	}
	return Buf{c, key}
}

// untrack notes that the reference of key ends, or panics and has changed
// nothing.
func (c *cell) untrack(key uint64) {
	b := c.block
	if b == nil || b.track == nil || !b.track.tokens {
		return
	}
	t, tok := b.track, token{c, key}
	t.mu.Lock()
	r, ok := t.held[tok]
	if !ok {
		gone := t.ended[tok]
		t.mu.Unlock()
		if gone != nil {
			panic("mem: Buf.Release: the Buf is a copy of one that was released already at\n" + gone.stack())
		}
		return // of another checkout: Release says so
	}
	delete(t.held, tok)
	if t.ended == nil {
		t.ended = make(map[token]*ref)
	}
	t.ended[tok] = newRef(t.size)
	t.mu.Unlock()
	t.forget(r)
}

// fill hands the reference of key to the filler of a Slab.
func (t *track) fill(c *cell, key uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tok := token{c, key}
	t.held[token{}] = t.held[tok]
	delete(t.held, tok)
}

// endFilling notes that the filler lets go.
func (t *track) endFilling() {
	t.mu.Lock()
	r := t.held[token{}]
	delete(t.held, token{})
	t.mu.Unlock()
	if r != nil {
		t.forget(r)
	}
}

// endTrack ends the watch over a checkout; b has no references.
func (b *block) endTrack() {
	t := b.track
	if t == nil {
		return
	}
	b.track, b.own.tracked = nil, false
	t.mu.Lock()
	held := t.held
	t.held = nil
	t.mu.Unlock()
	for _, r := range held {
		t.forget(r)
	}
}

func newRef(size int) *ref {
	r := &ref{size: size}
	r.depth = runtime.Callers(3, r.pcs[:])
	return r
}

// stack prints the frames that are not this package's own.
func (r *ref) stack() string {
	var s strings.Builder
	frames := runtime.CallersFrames(r.pcs[:r.depth])
	for {
		f, more := frames.Next()
		if !ownFrame(f.Function, f.File) {
			fmt.Fprintf(&s, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return s.String()
		}
	}
}

func ownFrame(function, file string) bool {
	return strings.HasPrefix(function, "github.com/sluice-go/sluice/mem.") && !strings.HasSuffix(file, "_test.go")
}

// A Leak is one watched reference that has not been released.
type Leak struct {
	Seq   uint64 // number of the reference among the allocator's watched ones, from 1
	Size  int    // bytes asked for
	Stack string // what took the reference, one frame in two lines, innermost first
}

// Leaks returns the watched references that are outstanding, in the order in
// which they were taken: with LeakTrace and LeakParanoid all that were handed
// out since the level was set, and what was retained of them.
func (a *Allocator) Leaks() []Leak {
	a.leak.mu.Lock()
	refs := make([]*ref, 0, len(a.leak.refs))
	for r := range a.leak.refs {
		refs = append(refs, r)
	}
	a.leak.mu.Unlock()
	leaks := make([]Leak, len(refs))
	for i, r := range refs {
		leaks[i] = Leak{r.seq, r.size, r.stack()}
	}
	sort.Slice(leaks, func(i, j int) bool { return leaks[i].Seq < leaks[j].Seq })
	return leaks
}
