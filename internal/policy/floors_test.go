package policy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// floorsFile has the table that says on which floor each package of the library
// stands. A package imports from lower floors only, never from its own floor. A
// package that is neither there nor in beside fails the test.
const floorsFile = "docs/architecture.md"

var (
	floorRow  = regexp.MustCompile(`^\| ([0-9]+) \| ([^|]+) \|`)
	floorName = regexp.MustCompile("`([a-z0-9/]+)`")
)

// parseFloors reads the table: rows of a number and of packages in backquotes.
func parseFloors(text string) map[string]int {
	table := map[string]int{}
	for line := range strings.Lines(text) {
		row := floorRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		floor, err := strconv.Atoi(row[1])
		if err != nil {
			panic(err) // the pattern has digits only
		}
		for _, name := range floorName.FindAllStringSubmatch(row[2], -1) {
			dir := name[1]
			if dir == "sluice" {
				dir = "."
			}
			table[dir] = floor
		}
	}
	return table
}

var floors = sync.OnceValue(func() map[string]int {
	text, err := os.ReadFile(filepath.Join(root, floorsFile))
	if err != nil {
		panic(err)
	}
	return parseFloors(string(text))
})

// beside lists the packages that stand on no floor because no user's program
// contains them.
var beside = map[string]struct {
	mayImport []string // of this module
	inProgram bool     // the programs may import it, not only tests
}{
	"sluicetest":        {mayImport: []string{"mem", "."}},
	"sluicetest/abuse":  {mayImport: []string{"mem", ".", "amf0", "flv", "rtmp"}, inProgram: true},
	"internal/flvclip":  {inProgram: true},
	"internal/flvwalk":  {mayImport: []string{"mem", "."}, inProgram: true},
	"internal/loopback": {},
	"internal/policy":   {},
	"internal/release":  {},
	"internal/soak":     {mayImport: []string{"mem"}},
	"internal/testcert": {},
	"internal/testdisk": {},

	"examples/broker":      {mayImport: []string{"mem", "."}},
	"examples/echo-server": {mayImport: []string{"aio"}},
	"examples/live-server": {mayImport: []string{"mem", ".", "amf0", "flv", "live", "rtmp"}},
	"examples/push-server": {mayImport: []string{"aio", "mem"}},
	"examples/rpc-server":  {mayImport: []string{"aio"}},
	"examples/tls-gateway": {mayImport: []string{"aio", "mem"}},
	"examples/tls-server":  {mayImport: []string{"."}},
}

// importFaults holds one file of any module against the tables.
func importFaults(s source) []string {
	var faults []string
	fault := func(format string, args ...any) {
		faults = append(faults, s.path+": "+fmt.Sprintf(format, args...))
	}
	floor, onFloor := floors()[s.pkg()]
	own, isBeside := beside[s.pkg()]
	if !s.inProgram() && !onFloor && !isBeside {
		fault("package %s is in no table of floors", s.pkg())
	}
	for _, imp := range s.imports() {
		if imp != module && !strings.HasPrefix(imp, module+"/") {
			if !s.inProgram() && !s.isTest() && !isStandard(imp) && !inTree(imp, "golang.org/x/sys") {
				fault("imports %s: the library imports the standard library and golang.org/x/sys only", imp)
			}
			continue
		}
		dep := strings.TrimPrefix(strings.TrimPrefix(imp, module), "/")
		if dep == "" {
			dep = "."
		}
		if s.inProgram() && inTree(dep, s.program()) {
			continue
		}
		depFloor, depOnFloor := floors()[dep]
		depOwn, depBeside := beside[dep]
		switch {
		case !depOnFloor && !depBeside:
			fault("imports %s, which is in no table of floors", imp)
		case dep == "internal/policy":
			fault("imports %s, which nobody does", imp)
		case s.isTest():
			// Tests may look up: nothing that is built contains them.
		case depBeside && s.inProgram() && depOwn.inProgram:
		case depBeside:
			fault("imports %s, which is for tests", imp)
		case s.inProgram():
		case isBeside && !slices.Contains(own.mayImport, dep):
			fault("imports %s, which its table does not name", imp)
		case onFloor && depFloor >= floor:
			fault("is on floor %d and imports %s on floor %d", floor, imp, depFloor)
		}
	}
	return faults
}

func isStandard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".") && imp != "C"
}

func inTree(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, dir+"/")
}

func TestImportsGoDown(t *testing.T) {
	for _, s := range allSources(t) {
		for _, f := range importFaults(s) {
			t.Error(f)
		}
	}
}

func TestImportRuleBites(t *testing.T) {
	for _, c := range []struct {
		file, imp, fault string
	}{
		{"mem/a.go", "io", ""},
		{"aio/a_linux.go", "golang.org/x/sys/unix", ""},
		{"aio/a_linux.go", "golang.org/x/system", "standard library"},
		{"mem/a.go", "C", "standard library"},
		{"mem/a.go", "example.com/pool", "standard library"},
		{"mem/a_test.go", "example.com/pool", ""},
		{"cmd/sluice/main.go", "example.com/flags", ""},
		{"reader.go", module + "/mem", ""},
		{"reader.go", module + "/internal/sys", ""},
		{"live/hub.go", module, ""},
		{"mem/a.go", module, "on floor 1 and imports"},
		{"mem/a.go", module + "/bytepool", "on floor 1 and imports"},
		{"mem/a.go", module + "/mem", "on floor 1 and imports"},
		{"internal/sys/a.go", module + "/internal/invariant", "on floor 0 and imports"},
		{"internal/source/a.go", module + "/mem", "on floor 1 and imports"},
		{"internal/sizing/a.go", module + "/internal/source", "on floor 0 and imports"},
		{"internal/window/a.go", module + "/mem", ""},
		{"internal/window/a.go", module, "on floor 2 and imports"},
		{"aio/internal/op/a.go", module + "/aio/internal/ready", "on floor 2 and imports"},
		{"aio/internal/ready/a.go", module + "/aio/internal/std", "on floor 4 and imports"},
		{"mem/a_test.go", module + "/netsim", ""},
		{"mem/a.go", module + "/util", "no table"},
		{"mem/a_test.go", module + "/util", "no table"},
		{"util/a.go", "io", "no table"},
		{"util/a_test.go", "io", "no table"},
		{"mem/a.go", module + "/sluicetest", "for tests"},
		{"mem/a_test.go", module + "/sluicetest", ""},
		{"cmd/sluice/main.go", module + "/sluicetest", "for tests"},
		{"cmd/sluice/main_test.go", module + "/sluicetest", ""},
		{"cmd/sluice/main.go", module + "/internal/flvclip", ""},
		{"reader.go", module + "/internal/flvclip", "for tests"},
		{"reader_test.go", module + "/internal/flvclip", ""},
		{"sluicetest/leak.go", module + "/mem", ""},
		{"sluicetest/leak.go", module + "/netsim", "does not name"},
		{"sluicetest/leak.go", module + "/internal/flvclip", "for tests"},
		{"mem/a_test.go", module + "/internal/policy", "nobody"},
		{"mem/a_test.go", module + "/cmd/sluice/internal/relay", "no table"},
		{"mem/a_test.go", module + "/lab/internal/load", "no table"},
		{"cmd/sluice/main.go", module + "/cmd/sluice/internal/relay", ""},
		{"cmd/sluice/main.go", module + "/lab/internal/load", "no table"},
		{"cmd/sluice/main_test.go", module + "/lab/internal/load", "no table"},
		{"lab/main.go", module + "/lab/internal/load", ""},
		{"lab/main.go", module + "/cmd/sluice/internal/relay", "no table"},
		{"lab/main.go", module + "/mem", ""},
		{"cmd/sluice/main.go", module + "/live", ""},
		{"examples/push-server/main.go", module + "/mem", ""},
		{"examples/push-server/main.go", "example.com/flags", "standard library"},
		{"examples/push-server/main.go", module + "/internal/sys", "does not name"},
		{"examples/other/main.go", "io", "no table"},
		{"aio/a.go", module + "/examples/push-server", "for tests"},
	} {
		s := mustParse(t, c.file, "//go:build never\n\npackage p\n\nimport _ \""+c.imp+"\"\n")
		got := strings.Join(importFaults(s), "; ")
		if (c.fault == "") != (got == "") || !strings.Contains(got, c.fault) {
			t.Errorf("%s importing %s: got %q, want %q", c.file, c.imp, got, c.fault)
		}
	}
}

func TestFloorsAreRead(t *testing.T) {
	const text = "| Floor | Packages |\n|---|---|\n| 2 | `sluice` (the root), `aio` | what `mem` is for |\n| 0 | `internal/sys` | x |\nand | 1 | `amf0` |\n"
	want := map[string]int{".": 2, "aio": 2, "internal/sys": 0}
	if got := parseFloors(text); !maps.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	for dir := range floors() {
		if found, err := filepath.Glob(filepath.Join(root, dir, "*.go")); err != nil || len(found) == 0 {
			t.Errorf("%s: no package %s (%v)", floorsFile, dir, err)
		}
	}
}
