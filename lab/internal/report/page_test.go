package report

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	loads "github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/matrix"
)

// Elements that have no end tag, and attributes that have no value, are HTML
// and no XML; the rest of what the templates write is both.
var (
	voids     = regexp.MustCompile(`<(meta|br|input)\b[^>]*[^/]?>`)
	valueless = regexp.MustCompile(`\s(hidden|disabled)([\s>])`)
	scripts   = regexp.MustCompile(`(?s)<script[^>]*>.*?</script>`)
	styles    = regexp.MustCompile(`(?s)<style>.*?</style>`)
)

// wellFormed fails when an element of the page is not closed where it should be,
// or a coordinate of a picture is no number.
func wellFormed(t testing.TB, page string) {
	t.Helper()
	text := strings.TrimPrefix(page, "<!DOCTYPE html>\n")
	text = styles.ReplaceAllString(scripts.ReplaceAllString(text, ""), "")
	text = voids.ReplaceAllString(text, "")
	text = valueless.ReplaceAllString(text, "$2")
	text = valueless.ReplaceAllString(text, "$2")
	d := xml.NewDecoder(strings.NewReader(text))
	d.Entity = xml.HTMLEntity
	ids := map[string]bool{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			at := int(d.InputOffset())
			t.Fatalf("%v near %q", err, text[max(0, at-200):min(len(text), at+50)])
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range start.Attr {
			switch a.Name.Local {
			case "id":
				if ids[a.Value] {
					t.Errorf("the id %q is there twice", a.Value)
				}
				ids[a.Value] = true
			case "x", "y", "width", "height", "d", "cx", "cy", "x1", "x2", "y1", "y2", "viewBox":
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || strings.Contains(a.Value, "e+") {
					t.Errorf("%s of <%s> is %q", a.Name.Local, start.Name.Local, a.Value)
				}
			case "style", "src", "onclick", "onload":
				t.Errorf("<%s> has the attribute %s", start.Name.Local, a.Name.Local)
			}
		}
	}
}

func TestTheReportIsWellFormed(t *testing.T) {
	all := everything(t)
	wellFormed(t, reported(t, all...))
	for _, r := range all {
		wellFormed(t, reported(t, r))
	}
	wellFormed(t, rendered(t, fixture()))
}

func TestTheReportAsksForNothingFromOutside(t *testing.T) {
	page := reported(t, everything(t)...)
	for _, pattern := range []string{`https?://`, `(?i)\bsrc\s*=`, `(?i)<link`, `(?i)@import`, `(?i)url\(`, `(?i)<iframe`, `(?i)\bfetch\(`} {
		if found := regexp.MustCompile(pattern).FindString(page); found != "" {
			t.Errorf("the page contains %q", found)
		}
	}
	for _, href := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(href[1], "#") || !strings.Contains(page, `id="`+href[1][1:]+`"`) {
			t.Errorf("a link to %q, which is not there", href[1])
		}
	}
	if !strings.Contains(page, "default-src &#39;none&#39;") {
		t.Error("nothing forbids what is not the page's own")
	}
}

func TestTheReportSaysWhatWasFound(t *testing.T) {
	page := reported(t, everything(t)...)
	for _, want := range []string{
		"9 results", "Test CPU @ 3 GHz", "open files",
		"first: small-writes", "INVALID: 12 %", "20,000 requests/s, P99 ", "127.0.0.1:2 to 127.0.0.1:1, 7 rounds", "P99 within 5 ms holds up to 12,800 requests/s", "exceeded", "prefers-color-scheme: dark", "@media print",
		"INVALID", "service time", "throughput over time", "nothing was answered for 1 s", "from the time due",
		"std: throughput", "aio: P99", "knee of std:", "invalid", "not measured", "± ",
		"93 % of the writes were under 512 B", "write through a BufWriter", "faulty.smallWrites", "CPU time", "bytes allocated", "perf record missing: no such program",
		"framing/good", "next: at most 0.05 of naive", "the generator was out of CPU", "or more", "does not take that rate",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "different machines") {
		t.Error("the page speaks of different machines")
	}
}

func TestOtherMachinesAreSaid(t *testing.T) {
	other := loadFixture(1, 1, 3)
	other.Machine.CPU, other.Machine.OpenFiles = "Another CPU", 128
	older := loadFixture(1, 1, 4)
	older.Machine = machine.Machine{OS: "linux", Arch: "amd64", Kernel: "6.1", CPU: "Test CPU @ 3 GHz", Cores: 2, GOMAXPROCS: 2, GOGC: "100", Go: "go1.25.0"}
	page := reported(t, opened(t, "a.json", loadFixture(1, 1, 1)), opened(t, "b.json", other))
	for _, want := range []string{"The results come from different machines", "Another CPU"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	// What an older program did not look at does not make it another machine.
	if page := reported(t, opened(t, "a.json", loadFixture(1, 1, 1)), opened(t, "b.json", older)); strings.Contains(page, "different machines") {
		t.Error("an older result counts as another machine's")
	}
}

// Names come out of files: whatever they say, it stays text.
func TestHostileNamesStayText(t *testing.T) {
	const evil = `</script></style><script>document.title="pwned"</script><img src=x onerror=alert(1)>" onload="x"'` + "`{{.}}\n\u202e</svg></title>"
	load := loadFixture(1, 1, 1)
	load.Plan.Target, load.Command, load.Version, load.Error, load.Errors, load.Machine.CPU = evil, []string{evil}, evil, evil, 1, evil
	invalid := invalidLoad()
	invalid.Reasons = []loads.Reason{{Text: evil}}
	grid := matrixFixture(1, 1)
	grid.Title, grid.Layers[0], grid.Rows.Labels[0], grid.Columns.Labels[1], grid.Figures[0].Title, grid.Knees[0].Rule = evil, evil, evil, evil, evil, evil
	grid.Cells[len(grid.Cells)-20].Runs[0] = matrix.Run{Reason: evil}
	d := diagnosisFixture()
	d.Findings[0].Clue, d.Findings[0].Top, d.Findings[0].Tool, d.Evidence.Workload, d.Evidence.Tools[0].Note = evil, evil, evil, evil, evil
	d.Evidence.CPU.Stacks[0].Frames[0] = evidence.Frame{Func: evil, File: evil}
	d.Evidence.Waits.Places[0].Frames[2] = evidence.Frame{Func: evil, File: evil}
	bench := fixture()
	bench.Scenarios[0].Name, bench.Scenarios[0].Title, bench.Scenarios[0].Variants[0].Name, bench.Mode = evil, evil, evil, evil
	var results []*Result
	for _, result := range []any{load, load, invalid, grid, grid, d, bench, bench} {
		results = append(results, opened(t, evil, result))
	}
	page := reported(t, results...)
	wellFormed(t, page)
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d script elements, want our own", n)
	}
	if strings.Contains(page, "<img") || strings.Contains(page, "</svg></title>") {
		t.Error("a name became markup")
	}
	var b strings.Builder
	if err := WriteBenchstat(&b, results); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "</") || strings.HasPrefix(line, "\u202e") {
			t.Errorf("a name began a line: %q", line)
		}
	}
}
