package ownership_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/vet/internal/driver"
	"github.com/sluice-go/sluice/vet/internal/models"
	"github.com/sluice-go/sluice/vet/ownership"
)

// falseInStandard are the reports in the standard library, which is taken to be
// correct: file and category.
var falseInStandard = map[string]string{
	// The reader's line is kept beside the reader, and used before the next one.
	"mime/quotedprintable/reader.go": "outlives",
}

// TestStandardLibrary looks at all packages of the standard library that use
// bufio, and allows one false report in 10,000 lines.
func TestStandardLibrary(t *testing.T) {
	p, err := driver.Load(driver.LoadOptions{}, models.Default().Package, usersOfBufio(t)...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := p.Run(newAnalyzer(t, ownership.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		pos := p.Fset.Position(d.Pos)
		name := filepath.ToSlash(pos.Filename)
		known := false
		for suffix, category := range falseInStandard {
			known = known || strings.HasSuffix(name, "/"+suffix) && d.Category == category
		}
		if !known {
			t.Errorf("%s: %s [%s]: a false report, or a fault of the standard library", pos, d.Message, d.Category)
		}
	}
	lines := p.Lines()
	fmt.Printf("standard library: %d false reports in %d lines of %d packages\n", len(found), lines, len(p.Packages))
	if len(found)*10_000 > lines || lines < 100_000 {
		t.Errorf("%d false reports in %d lines, want at most 1 in 10,000 of at least 100,000", len(found), lines)
	}
}

// usersOfBufio lists the packages that import bufio, or one of the others that the
// table has most of.
func usersOfBufio(t testing.TB) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports ","}}`, "std").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		path, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		all := strings.Split(imports, ",")
		if slices.Contains(all, "bufio") || slices.Contains(all, "sync") && slices.Contains(all, "bytes") {
			list = append(list, path)
		}
	}
	return list
}
