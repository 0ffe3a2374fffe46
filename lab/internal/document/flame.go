package document

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/units"
)

const (
	flameDepth  = 100   // frames, counted from the outermost
	flameFrames = 2_000 // that are drawn
	flameLeast  = 0.001 // of the whole: less is narrower than a pixel
	flameRow    = 18    // pixels
	flameLabel  = 0.025 // of the width: a narrower frame has no room for its name
)

// A Flame is a flame graph: where a profile's values come from, callers above what they
// call, each as wide as its part of the whole, the widest first. It is drawn in
// per cent of the page's width and in pixels of height, so that its text is readable
// on any screen; the script that lets a reader go into a part of it only
// changes those numbers. A terminal does not have it.
type Flame struct {
	ID     string
	Title  string
	Total  string
	Height int
	Frames []flame
	Notes  []string
}

type flame struct {
	Class       string
	Name        string // without its package's path
	About       string // in full, with its value
	Part, Width float64
	Depth       int
	Label       bool
}

// X and W are in per cent.
func (f flame) X() string { return percent(f.Part) }
func (f flame) W() string { return percent(f.Width) }
func (f flame) Y() int    { return f.Depth * flameRow }

func percent(part float64) string { return strconv.FormatFloat(part*100, 'f', 3, 64) + "%" }

type call struct {
	name  string
	value float64
	calls map[string]*call
}

func (c *call) to(name string) *call {
	next := c.calls[name]
	if next == nil {
		if c.calls == nil {
			c.calls = map[string]*call{}
		}
		next = &call{name: name}
		c.calls[name] = next
	}
	return next
}

// NewFlame draws stacks: a value, and the names of functions from the outermost in,
// which are borrowed until the next one. label writes a value. It returns nil
// where the values come to nothing.
func NewFlame(id, title string, label func(float64) string, stacks iter.Seq2[float64, []string]) *Flame {
	root := &call{name: "all"}
	cut := false
	for value, names := range stacks {
		root.value += value
		at := root
		for i, name := range names {
			if i == flameDepth {
				cut = true
				break
			}
			at = at.to(name)
			at.value += value
		}
	}
	if root.value <= 0 {
		return nil
	}
	g := &Flame{ID: id, Title: title, Total: label(root.value)}
	least := flameLeast * root.value
	var small bool
	for {
		g.Frames, g.Height, small = g.Frames[:0], 0, false
		g.lay(root, 0, 0, root.value, label, least, &small)
		if len(g.Frames) <= flameFrames {
			break
		}
		least *= 2
	}
	if small {
		g.Notes = append(g.Notes, "What has less than "+units.Percent(least/root.value)+" of the whole is not drawn.")
	}
	if cut {
		g.Notes = append(g.Notes, fmt.Sprintf("Stacks deeper than %d frames are cut.", flameDepth))
	}
	return g
}

func (g *Flame) lay(c *call, depth int, from, total float64, label func(float64) string, least float64, small *bool) {
	if len(g.Frames) > flameFrames {
		return
	}
	f := flame{
		Class: kindOfCode(c.name), Name: ShortName(c.name), Part: from / total, Width: c.value / total, Depth: depth,
		About: fmt.Sprintf("%s\n%s, %s", Clip(c.name, 300), label(c.value), units.Percent(c.value/total)),
	}
	f.Label = f.Width >= flameLabel
	g.Frames = append(g.Frames, f)
	g.Height = max(g.Height, (depth+1)*flameRow)
	list := slices.SortedFunc(maps.Values(c.calls), func(a, b *call) int {
		return cmp.Or(cmp.Compare(b.value, a.value), strings.Compare(a.name, b.name))
	})
	for _, next := range list {
		if next.value < least || next.value == 0 {
			*small = true
			break
		}
		g.lay(next, depth+1, from, total, label, least, small)
		from += next.value
	}
}

// ShortName takes the directories off a function's name.
func ShortName(name string) string {
	short := name
	// Type parameters have paths of their own.
	end := strings.IndexAny(short, "[(")
	if end < 0 {
		end = len(short)
	}
	if i := strings.LastIndexByte(short[:end], '/'); i >= 0 {
		short = short[i+1:]
	}
	return Clip(short, 120)
}

// Clip shortens a text to so many characters.
func Clip(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}

func kindOfCode(name string) string {
	path, _, _ := strings.Cut(name, "[")
	dir := path[:strings.LastIndexByte(path, '/')+1]
	pkg, _, _ := strings.Cut(path[len(dir):], ".")
	switch full := dir + pkg; {
	case name == "all" || name == "(other)":
		return "k-all"
	case full == "syscall" || strings.HasPrefix(full, "internal/runtime/syscall") || strings.HasPrefix(full, "golang.org/x/sys/") ||
		full == "runtime/internal/syscall" || strings.HasPrefix(full, "internal/syscall/") || strings.HasSuffix(name, "[kernel.kallsyms]") || strings.HasSuffix(name, "_[k]"):
		return "k-call"
	case full == "runtime" || strings.HasPrefix(full, "runtime/") || strings.HasPrefix(full, "internal/runtime/"):
		return "k-run"
	case strings.HasPrefix(full, "github.com/sluice-go/sluice"):
		return "k-own"
	case full == "main" || strings.Contains(strings.Split(full, "/")[0], "."):
		return "k-other"
	case !strings.Contains(path, "."):
		return "k-call" // a symbol of the kernel or of C
	}
	return "k-std"
}
