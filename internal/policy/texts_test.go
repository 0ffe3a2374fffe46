package policy

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines is where a file has certainly more than one idea; 120 to 350 is
// usual, and 500 asks for a second look.
const maxLines = 700

// written are the kinds of file that people write and read. Minified scripts
// (name.min.js) are not among them.
var written = []string{".go", ".sh", ".md", ".html", ".css", ".js", ".yml", ".yaml"}

var (
	// localPath finds absolute paths that mean something on one machine only.
	localPath = regexp.MustCompile("(?:^|[\\s\"'`(=:,\\[{<>])" + `/(?:(?:work|root|home)(?:/|$|[^\w.-])|tmp/)`)
	// besideRepository finds paths that leave the repository for its neighbour.
	besideRepository = regexp.MustCompile(`\.\./` + `shared\b(/media\b)?`)
)

// textFaults looks at the lines of one file.
func textFaults(name string, content []byte) []string {
	var faults []string
	n := 0
	for line := range bytes.Lines(content) {
		n++
		if localPath.Match(line) {
			faults = append(faults, fmt.Sprintf("%s:%d: names an absolute path of one machine: %s", name, n, bytes.TrimSpace(line)))
		}
		for _, m := range besideRepository.FindAllSubmatch(line, -1) {
			// A test may read media that lies there, and skips when it does not.
			if !strings.HasSuffix(name, "_test.go") || len(m[1]) == 0 {
				faults = append(faults, fmt.Sprintf("%s:%d: names a place outside the repository: %s", name, n, bytes.TrimSpace(line)))
			}
		}
	}
	if n > maxLines && slices.Contains(written, path.Ext(name)) && !strings.Contains(path.Base(name), ".min.") {
		faults = append(faults, fmt.Sprintf("%s: %d lines, at most %d", name, n, maxLines))
	}
	return faults
}

func TestTexts(t *testing.T) {
	files := 0
	err := walk(func(name string) error {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !isText(content) {
			return err
		}
		files++
		for _, f := range textFaults(name, content) {
			t.Error(f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("no text file found")
	}
}

func TestTextRulesBite(t *testing.T) {
	outside := "../" + "shared"
	for _, c := range []struct {
		name, line string
		faults     int
	}{
		{"a.go", `const dir = "/` + `work/main"`, 1},
		{"a.go", `const dir = "/` + `root"`, 1},
		{"README.md", "`/" + "home/me/x`", 1},
		{"README.md", "(/" + "tmp/x)", 1},
		{"a.sh", "cd /" + "work", 1},
		{"a.sh", "dir=/" + "tmp/x", 1},
		{"a.go", `get("/` + `homepage")`, 0},
		{"a.go", `get("/` + `work-stealing")`, 0},
		{"a.go", `"net` + `work/home/x"`, 0},
		{"README.md", "https://example.com/" + "home/x", 0},
		{"a.go", outside + "/media/clip.flv", 1},
		{"a_test.go", "../" + outside + "/media/clip.flv", 0},
		{"a_test.go", outside + "/notes.md", 1},
		{"README.md", outside + "/media/clip.flv", 1},
		{"a_test.go", outside + "/media " + outside, 1},
	} {
		if got := textFaults(c.name, []byte(c.line+"\n")); len(got) != c.faults {
			t.Errorf("%s with %q: %d faults %q, want %d", c.name, c.line, len(got), got, c.faults)
		}
	}
}

func TestLongFilesAreFound(t *testing.T) {
	long := []byte(strings.Repeat("x\n", maxLines+1))
	for name, want := range map[string]int{"a.go": 1, "docs/a.md": 1, "plot.min.js": 0, "go.sum": 0} {
		if got := textFaults(name, long); len(got) != want {
			t.Errorf("%s of %d lines: faults %q, want %d", name, maxLines+1, got, want)
		}
	}
	if got := textFaults("a.go", long[:2*maxLines]); len(got) != 0 {
		t.Errorf("a file of %d lines: faults %q", maxLines, got)
	}
}
