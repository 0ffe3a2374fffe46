//go:build !race

package policy

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wordsInDocs is how long the pages in docs may be together, counted as wc does,
// without the tables that a command writes from recorded runs: they are looked up.
const wordsInDocs = 20_000

// tablesWritten are the sentences that mark such a page.
var tablesWritten = []string{"\nWritten by `lab report", "`make protocols` writes this table", "\n" + fuzzWritten}

// pages returns the README, the pages for those who contribute, and every page in docs, by
// their paths from the root.
func pages(t *testing.T) []string {
	t.Helper()
	names := []string{readmes[0], readmes[1], "CONTRIBUTING.md", "SECURITY.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) < 10 {
		t.Fatalf("%d pages: %v", len(names), err)
	}
	return names
}

var (
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	codeBlock   = regexp.MustCompile("(?ms)^```.*?^```$")
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the names by which the headings of a page can be linked to.
func anchors(page string) (names []string) {
	for _, h := range pageHeading.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		name := notInAnchor.ReplaceAllString(strings.ToLower(h[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// brokenLinks returns the links of a page at name that lead nowhere. read returns the
// text of a file, or false.
func brokenLinks(name, text string, read func(string) (string, bool)) (broken []string) {
	for _, m := range pageLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		file, anchor, _ := strings.Cut(m[1], "#")
		target := text
		if file != "" {
			var ok bool
			if target, ok = read(path.Join(path.Dir(name), file)); !ok {
				broken = append(broken, m[1])
				continue
			}
		}
		if anchor != "" && !slices.Contains(anchors(target), anchor) {
			broken = append(broken, m[1])
		}
	}
	return broken
}

func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	read := func(name string) (string, bool) {
		full := filepath.Join(root, name)
		if info, err := os.Stat(full); err != nil || info.IsDir() {
			return "", err == nil
		}
		text, err := os.ReadFile(full)
		return string(text), err == nil
	}
	for _, name := range pages(t) {
		text, ok := read(name)
		if !ok {
			t.Fatal(name)
		}
		for _, link := range brokenLinks(name, text, read) {
			t.Errorf("%s links to %s, which is not there", name, link)
		}
	}
}

func TestLinkRuleBites(t *testing.T) {
	const other = "# A page\n## With `code`, and more\n```\n# no heading\n```\n"
	read := func(name string) (string, bool) { return other, name == "docs/b/other.md" }
	text := "[a](other.md) [b](../b/other.md#with-code-and-more) [c](https://x.example/y)\n# Here\n[d](#here)\n" +
		"[e](gone.md) [f](other.md#no-heading) [g](#there)\n```\n[h](gone.md)\n```\n"
	want := []string{"gone.md", "other.md#no-heading", "#there"}
	if got := brokenLinks("docs/b/page.md", text, read); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDocsStayShort(t *testing.T) {
	words := 0
	for _, name := range pages(t) {
		if !strings.HasPrefix(name, "docs/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(tablesWritten, func(by string) bool { return bytes.Contains(text, []byte(by)) }) {
			words += len(strings.Fields(string(text)))
		}
	}
	if words > wordsInDocs {
		t.Errorf("docs has %d words, more than %d: shorten a page", words, wordsInDocs)
	}
}
