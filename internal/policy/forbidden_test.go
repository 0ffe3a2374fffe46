package policy

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// unsafeFiles are all the files of the library that import unsafe, tests
// included. A file that comes or goes is a change of this list.
var unsafeFiles = []string{
	"bytepool/box.go",
	"internal/sys/detector_linux_race.go",
	"internal/sys/epoll_linux.go",
	"internal/sys/relaxed64.go",
	"internal/sys/socket_linux.go",
	"internal/sys/tcpinfo_linux.go",
	"internal/sys/writev_linux.go",
	"mem/layout_test.go",
	"mem/malloc.go",
	"mem/overflow.go",
}

// unsafePackages may be in unsafeFiles at all.
var unsafePackages = []string{"internal/sys", "bytepool", "mem"}

// sleeps counts the uses of time.Sleep that tests of the library are allowed,
// by file: only where time passing is itself what is tested.
var sleeps = map[string]int{
	// Virtual time in a testing/synctest bubble, where its passing is what is tested.
	"mem/budget_model_test.go":     2,
	"mem/budget_overdraft_test.go": 1,
	"mem/budget_queue_test.go":     2,
	"mem/standstill_test.go":       2,
	"standstill_test.go":           1,
	"netsim/conn_deadline_test.go": 7,
	"netsim/conn_delay_test.go":    3,
}

func TestImportersOfUnsafe(t *testing.T) {
	var found []string
	for _, s := range librarySources(t) {
		if slices.Contains(s.imports(), "unsafe") {
			found = append(found, s.path)
			if !slices.Contains(unsafePackages, s.pkg()) {
				t.Errorf("%s imports unsafe: only %v may", s.path, unsafePackages)
			}
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, unsafeFiles) {
		t.Errorf("the importers of unsafe are %q, the list says %q", found, unsafeFiles)
	}
}

func TestNoLinkname(t *testing.T) {
	for _, s := range allSources(t) {
		for _, line := range linknames(s) {
			t.Errorf("%s:%d: go:linkname reaches into other packages behind the compiler's back", s.path, line)
		}
	}
}

func linknames(s source) []int {
	var lines []int
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:"+"linkname") {
				lines = append(lines, s.line(c.Pos()))
			}
		}
	}
	return lines
}

func TestNoSleepInTests(t *testing.T) {
	for _, s := range librarySources(t) {
		if !s.isTest() {
			continue
		}
		if got := sleepLines(s); len(got) != sleeps[s.path] {
			t.Errorf("%s: time.Sleep at lines %v, %d allowed: wait for the event, not for the time it usually takes",
				s.path, got, sleeps[s.path])
		}
	}
}

// sleepLines finds the uses of time.Sleep under whatever name time has.
func sleepLines(s source) []int {
	names := map[string]bool{}
	for _, spec := range s.file.Imports {
		if spec.Path.Value != `"time"` {
			continue
		}
		name := "time"
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = true
	}
	var lines []int
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && names[x.Name] && n.Sel.Name == "Sleep" {
				lines = append(lines, s.line(n.Pos()))
			}
			return true
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && names["."] && f.Name == "Sleep" {
				lines = append(lines, s.line(n.Pos()))
			}
		}
		return true
	})
	return lines
}

// unixNanos are the calls of UnixNano outside of tests, by file: a number that another is
// compared with, or subtracted from, is counted from a time.Time that has the monotonic
// clock. By the wall clock it is hours off when that is set.
var unixNanos = map[string]int{
	"cmd/sluice/internal/relay/cluster/node.go":                1, // numbers the runs of a node
	"cmd/sluice/internal/relay/cluster/transport/transport.go": 1, // numbers requests, also after a restart
	"cmd/sluice/internal/relay/rtpmedia/order.go":              1, // jitter: one step is one late packet
	"cmd/sluice/internal/relay/web/recorded.go":                1, // of a file
}

func TestNoWallClockInDurations(t *testing.T) {
	for _, s := range allSources(t) {
		if s.isTest() {
			continue
		}
		if got := methodLines(s, "UnixNano"); len(got) != unixNanos[s.path] {
			t.Errorf("%s: UnixNano at lines %v, %d allowed: count from a time.Time, with Sub or time.Since",
				s.path, got, unixNanos[s.path])
		}
	}
}

// methodLines finds the selectors of that name.
func methodLines(s source, name string) []int {
	var lines []int
	ast.Inspect(s.file, func(n ast.Node) bool {
		if n, ok := n.(*ast.SelectorExpr); ok && n.Sel.Name == name {
			lines = append(lines, s.line(n.Sel.Pos()))
		}
		return true
	})
	return lines
}

func TestForbiddenCallsAreFound(t *testing.T) {
	s := mustParse(t, "mem/a_test.go", fmt.Sprintf(`package mem

import clock "time"

//go:%s f runtime.f
func f()

func g(other struct{ Sleep func(int) }) {
	clock.Sleep(1)
	other.Sleep(2)
	wait := clock.Sleep
	wait(3)
	_ = clock.Now().
		UnixNano()
}
`, "linkname"))
	if got := linknames(s); !slices.Equal(got, []int{5}) {
		t.Errorf("linkname found at lines %v, want [5]", got)
	}
	if got := sleepLines(s); !slices.Equal(got, []int{9, 11}) {
		t.Errorf("time.Sleep found at lines %v, want [9 11]", got)
	}
	if got := methodLines(s, "UnixNano"); !slices.Equal(got, []int{14}) {
		t.Errorf("UnixNano found at lines %v, want [14]", got)
	}
	dotted := mustParse(t, "mem/b_test.go", "package mem\n\nimport . \"time\"\n\nfunc g() { Sleep(1) }\n")
	if got := sleepLines(dotted); !slices.Equal(got, []int{5}) {
		t.Errorf("time.Sleep under a dot import found at lines %v, want [5]", got)
	}
}
