package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func rendered(t *testing.T, f *File) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageAsksForNothingFromOutside(t *testing.T) {
	page := rendered(t, fixture())
	for _, pattern := range []string{
		`https?://`, `(?i)\bsrc\s*=`, `(?i)<link`, `(?i)@import`, `(?i)url\(`, `(?i)<iframe`, `(?i)\bfetch\(`,
	} {
		if found := regexp.MustCompile(pattern).FindString(page); found != "" {
			t.Errorf("the page contains %q", found)
		}
	}
	for _, href := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(href[1], "#") {
			t.Errorf("a link to %q", href[1])
		} else if !strings.Contains(page, `id="`+href[1][1:]+`"`) {
			t.Errorf("a link to %q, which is not there", href[1])
		}
	}
}

func TestPageEscapesTexts(t *testing.T) {
	page := rendered(t, fixture())
	if strings.Contains(page, "<b>from</b>") || !strings.Contains(page, "frames &lt;b&gt;from&lt;/b&gt; memory") {
		t.Error("a title became markup")
	}
	if n := strings.Count(page, "</script>"); n != 1 {
		t.Errorf("%d ends of script elements, want 1", n)
	}
}

func TestPageSaysWhatWasFound(t *testing.T) {
	page := rendered(t, fixture())
	for _, want := range []string{
		"Test CPU @ 3 GHz", "go1.25.0, GOMAXPROCS 2, GOGC 100", "lab bench --full &lt;x&gt;", "4 March 2026", "interrupted",
		`<strong class="more">INVALID</strong> tcp/128: not the same work`, `<strong class="more">FAILED</strong> tcp/1K`,
		"next: at most 0.05 of naive", "missed", "splice is not here: not on this system", "15 rounds of 241,000 x frame",
		"prefers-color-scheme: dark", "@media print",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := strings.Count(page, `<svg class="ratio"`); n != 4 {
		t.Errorf("%d bars, want one for each ratio of the two scenarios with figures", n)
	}
}
