package ownership_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/vet/internal/driver"
	"github.com/sluice-go/sluice/vet/internal/models"
	"github.com/sluice-go/sluice/vet/ownership"
)

// BenchmarkLines checks the packages of the standard library that use bufio, from the
// source to the reports. What they import has to be compiled already.
func BenchmarkLines(b *testing.B) {
	paths := usersOfBufio(b)
	benchmark(b, driver.LoadOptions{}, paths...)
}

// BenchmarkConditions is one function of 2,000 lines that tests many things while it
// has borrowed bytes.
func BenchmarkConditions(b *testing.B) {
	var text strings.Builder
	text.WriteString("package m\n\nimport \"bufio\"\n\nfunc f(r *bufio.Reader, n [400]int) (sum int) {\n\tfor {\n\t\tp, _ := r.ReadSlice(10)\n")
	for i := range 400 {
		fmt.Fprintf(&text, "\t\tif n[%d] > len(p) {\n\t\t\tsum += n[%d]\n\t\t} else if p[%d] == 0 {\n\t\t\tsum--\n\t\t}\n", i, i, i)
	}
	text.WriteString("\t}\n}\n")
	dir := b.TempDir()
	for name, s := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.25.0\n", "m.go": text.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	benchmark(b, driver.LoadOptions{Dir: dir, Env: append(os.Environ(), "GOWORK=off")}, ".")
}

func benchmark(b *testing.B, o driver.LoadOptions, paths ...string) {
	lines := 0
	for b.Loop() {
		p, err := driver.Load(o, models.Default().Package, paths...)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Run(newAnalyzer(b, ownership.Options{})); err != nil {
			b.Fatal(err)
		}
		lines += p.Lines()
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(lines)*100_000, "s/100,000-lines")
}
