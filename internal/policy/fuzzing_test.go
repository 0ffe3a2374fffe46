//go:build !race

package policy

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// scripts/fuzz.sh appends a line to the record for each run of a target.
const (
	fuzzRecord = "docs/results/data/fuzzing.csv"
	fuzzPage   = "docs/results/fuzzing.md"
	// fuzzWritten marks the page as one that is not written by hand.
	fuzzWritten = "Written by `FUZZRECORD=yes make fuzz`"
	// fuzzAsked is how long each target should have run, in seconds.
	fuzzAsked = 3600
)

// A fuzzed is what all runs of a target come to.
type fuzzed struct {
	pkg, name                        string
	seconds, executions, interesting int
	last                             string // the date of the latest run
	findings                         []string
}

// sumOfRuns adds up the runs of each target, in the order of packages and names.
func sumOfRuns(record string) ([]*fuzzed, []string, error) {
	rows, err := csv.NewReader(strings.NewReader(record)).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	targets, processors := map[string]*fuzzed{}, map[string]bool{}
	for i, row := range rows {
		if i == 0 {
			continue // the names of the columns
		}
		var figures [3]int
		for j := range figures {
			if figures[j], err = strconv.Atoi(row[4+j]); err != nil {
				return nil, nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		t := targets[row[2]+" "+row[3]]
		if t == nil {
			t = &fuzzed{pkg: row[2], name: row[3]}
			targets[row[2]+" "+row[3]] = t
		}
		processors[row[1]] = true
		t.seconds += figures[0]
		t.executions += figures[1]
		t.interesting += figures[2]
		t.last = max(t.last, row[0])
		if row[7] != "" {
			t.findings = append(t.findings, row[7])
		}
	}
	sorted := slices.SortedFunc(maps.Values(targets), func(a, b *fuzzed) int {
		return cmp.Or(strings.Compare(a.pkg, b.pkg), strings.Compare(a.name, b.name))
	})
	return sorted, slices.Sorted(maps.Keys(processors)), nil
}

// pageOfRuns writes the page from the record.
func pageOfRuns(record string) (string, error) {
	targets, processors, err := sumOfRuns(record)
	if err != nil {
		return "", err
	}
	var table, found strings.Builder
	seconds, complete := 0, 0
	for _, t := range targets {
		seconds += t.seconds
		if t.seconds >= fuzzAsked {
			complete++
		}
		fmt.Fprintf(&table, "| `%s` | `%s` | %.1f | %d | %d | %d | %s |\n", t.name, t.pkg,
			float64(t.seconds)/60, t.executions, t.interesting, len(t.findings), t.last)
		for _, f := range t.findings {
			fmt.Fprintf(&found, "- `%s` in `%s`: %s\n", t.name, t.pkg, f)
		}
	}
	if found.Len() == 0 {
		found.WriteString("None in these runs.\n")
	}
	return fmt.Sprintf(`# Fuzzing

%s from [the record](data/fuzzing.csv), %s. The inputs that reached new code, those of up to 512 bytes, are kept
in an [archive](data/fuzzing-corpus.tar.gz), from which the next run goes on.

Asked is an hour for each target. **%d of %d targets have had it**; all together have run for %.2f hours of the %d asked.

| Target | Package | Minutes | Executions | New inputs | Findings | Last run |
|---|---|--:|--:|--:|--:|---|
%s
## Findings

Each is mended, and its input is among the seeds of its target.

%s`, fuzzWritten, strings.Join(processors, ", "), complete, len(targets), float64(seconds)/3600, len(targets), &table, &found), nil
}

func TestFuzzingPageIsThatOfTheRecord(t *testing.T) {
	record, err := os.ReadFile(filepath.Join(root, fuzzRecord))
	if err != nil {
		t.Fatal(err)
	}
	want, err := pageOfRuns(string(record))
	if err != nil {
		t.Fatalf("%s: %v", fuzzRecord, err)
	}
	if os.Getenv("SLUICE_FUZZING") == "update" {
		if err := os.WriteFile(filepath.Join(root, fuzzPage), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := os.ReadFile(filepath.Join(root, fuzzPage)); err != nil || string(page) != want {
		t.Errorf("%s is not what the record says (%v): SLUICE_FUZZING=update writes it", fuzzPage, err)
	}
	if strings.Contains(want, "unexplained") {
		t.Errorf("%s: a run failed, and its cause does not stand in its line", fuzzRecord)
	}
}

// A page that lists what is gone says nothing of how much has been tried.
func TestRecordedTargetsAreThere(t *testing.T) {
	record, err := os.ReadFile(filepath.Join(root, fuzzRecord))
	if err != nil {
		t.Fatal(err)
	}
	targets, _, err := sumOfRuns(string(record))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		files, err := filepath.Glob(filepath.Join(root, target.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		there := slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(text), "\nfunc "+target.name+"(")
		})
		if !there {
			t.Errorf("%s: there is no %s in %s: its lines go with it", fuzzRecord, target.name, target.pkg)
		}
	}
}

func TestRunsOfATargetAreAddedUp(t *testing.T) {
	const head = "date,processor,package,target,seconds,executions,interesting,finding\n"
	targets, processors, err := sumOfRuns(head +
		"2026-01-02,P,b,FuzzX,3000,7,2,\n2026-01-01,Q,a,FuzzY,10,1,0,a cut header\n2026-01-01,P,b,FuzzX,600,1,1,\n")
	if err != nil || len(targets) != 2 || !slices.Equal(processors, []string{"P", "Q"}) {
		t.Fatalf("%d targets on %q, %v", len(targets), processors, err)
	}
	if x := *targets[1]; x.seconds != 3600 || x.executions != 8 || x.interesting != 3 || x.last != "2026-01-02" || len(x.findings) != 0 {
		t.Errorf("%+v", x)
	}
	if y := targets[0]; !slices.Equal(y.findings, []string{"a cut header"}) {
		t.Errorf("%+v", y)
	}
	for _, bad := range []string{"2026-01-02,P,b,FuzzX,long,7,2,\n", "2026-01-02,P\n"} {
		if _, _, err := sumOfRuns(head + bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
