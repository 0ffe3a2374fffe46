package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/measure"
)

func TestProgressOnATerminalIsOneLine(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.live = true
	p.bench(measure.Event{Index: 1, Total: 9, Scenario: "tcp/128"})
	p.bench(measure.Event{Index: 1, Total: 9, Scenario: "tcp/128", Round: 3})
	if text := b.String(); strings.Contains(text, "\n") || !strings.Contains(text, "[2/9] tcp/128: preparing") || !strings.Contains(text, "round 3") {
		t.Errorf("%q", text)
	}
	p.bench(measure.Event{Index: 1, Total: 9, Scenario: "tcp/128", Outcome: &measure.Outcome{}})
	if text := b.String(); !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("the line is not taken away before a table follows: %q", text)
	}
	n := b.Len()
	p.clear()
	if b.Len() != n {
		t.Error("an empty line was cleared")
	}
}

func TestFilesAreNoTerminals(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if terminal(file) || colourful(file) || terminal(&bytes.Buffer{}) {
		t.Error("a file or buffer passes for a terminal")
	}
}
