package evidence

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

const (
	// keptStacks is how many stacks of a profile are kept: enough for a flame
	// graph in which the narrowest stack could be seen.
	keptStacks = 2000
	// distinctStacks bounds what a stackSet remembers of an input.
	distinctStacks = 200_000
	// deepest is how many frames of one stack are kept.
	deepest = 512
)

const (
	otherFrames  = "(other)"
	deeperFrames = "(frames left out)"
)

type stackSet struct {
	stacks map[string]*Stack
	other  Stack // of stacks that came when the set was full
	key    []byte
}

func newStackSet() *stackSet { return &stackSet{stacks: make(map[string]*Stack)} }

// add adds to the value of a stack, the innermost frame first. Frames are
// borrowed for the call; their strings are kept.
func (s *stackSet) add(frames []Frame, value, count int64) {
	if len(frames) > deepest {
		const half = deepest / 2
		frames = slices.Concat(frames[:half], []Frame{{Func: deeperFrames}}, frames[len(frames)-half:])
	}
	s.key = s.key[:0]
	for _, f := range frames {
		s.key = fmt.Appendf(s.key, "%s\n%s\n%d\n", f.Func, f.File, f.Line)
	}
	t := s.stacks[string(s.key)]
	if t == nil {
		if t = &s.other; len(s.stacks) < distinctStacks {
			t = &Stack{Frames: slices.Clone(frames)}
			s.stacks[string(s.key)] = t
		}
	}
	t.Value += value
	t.Count += count
}

// profile returns the stacks whose value is above nothing, largest first, with
// at most kept of them by themselves.
func (s *stackSet) profile(unit string, kept int) *Profile {
	var keys []string
	for key, t := range s.stacks {
		if t.Value > 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.stacks[b].Value, s.stacks[a].Value), cmp.Compare(a, b))
	})
	p := &Profile{Unit: unit, Stacks: []Stack{}, Total: max(0, s.other.Value)}
	rest := s.other
	for i, key := range keys {
		t := *s.stacks[key]
		t.Count = max(t.Count, 0)
		p.Total = plus(p.Total, t.Value)
		if i >= kept {
			rest.Value, rest.Count = plus(rest.Value, t.Value), rest.Count+t.Count
			continue
		}
		p.Stacks = append(p.Stacks, t)
	}
	if rest.Value > 0 {
		p.Stacks = append(p.Stacks, Stack{Value: rest.Value, Count: max(rest.Count, 0), Frames: []Frame{{Func: otherFrames}}})
	}
	return p
}

// plus adds what is not negative and stops at the largest number, so that a
// profile with absurd values has no negative total.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Own returns the innermost frame of a stack outside the standard libraries and
// golang.org/x: the code that the user can change. If there is none, it
// returns the innermost frame and false.
func Own(frames []Frame) (f Frame, ok bool) {
	if i := slices.IndexFunc(frames, Frame.Own); i >= 0 || len(frames) > 0 {
		return frames[max(i, 0)], i >= 0
	}
	return f, false
}

// Own reports whether a function is of the program or of a library outside the
// standard ones and golang.org/x, and not made by cgo. Of Go the path of its package says it. Functions of other
// languages are marked when they are read (Native).
func (f Frame) Own() bool {
	if f.Native {
		return !systemFunction(f.Func) || closure(f.Func)
	}
	pkg := packageOf(f.Func)
	first, _, below := strings.Cut(pkg, "/")
	switch {
	case pkg == "" || standard[first] || strings.HasPrefix(pkg, "golang.org/x/") || strings.HasPrefix(f.Func[len(pkg):], "._C"):
		return false
	case first == "main" || strings.Contains(first, "."):
		return true
	}
	// The name of a module needs no dot; parts of the kernel's functions have one behind theirs.
	return below || strings.HasSuffix(f.File, ".go")
}

// standard are the first elements of the paths of Go's own packages and programs.
var standard = func() map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq("archive arena bufio bytes cmd cmp compress container context crypto database debug embed encoding " +
		"errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime simd " +
		"slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak") {
		set[name] = true
	}
	return set
}()

// systemFunction matches what compilers and the standard libraries of C, C++ and Rust put into a program.
var systemFunction = regexp.MustCompile(`^(_start|_init|_fini|__|\[unknown\]|<?(std|core|alloc|hashbrown)::|operator (new|delete)|0x)`).MatchString

// closure matches the standard library's functions that compilers put the program's closures into.
var closure = regexp.MustCompile(`\{lambda\(|::__rust_begin_short_backtrace$`).MatchString

// packageOf returns the path of a Go function's package: up to the first dot
// behind the last slash. In a symbol, dots of the last element of a path are written %2e.
func packageOf(fn string) string {
	path, _, _ := strings.Cut(fn, "[") // type arguments have paths of their own
	slash := strings.LastIndexByte(path, '/') + 1
	dot := strings.IndexByte(fn[slash:], '.')
	if dot < 0 {
		return ""
	}
	return fn[:slash+dot]
}

func ownFuncs(frames []Frame) []string {
	var list []string
	for _, f := range frames {
		if f.Own() && !slices.Contains(list, f.Func) {
			list = append(list, f.Func)
		}
	}
	return list
}

// base is the last part of a path of either kind of system: a profile may
// come from another one.
func base(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}
