package machine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// What older programs wrote still loads, and says nothing of what they did not
// look at.
func TestResultsOfOlderProgramsLoad(t *testing.T) {
	var m Machine
	if err := json.Unmarshal([]byte(`{"os":"linux","arch":"amd64","cpu":"X","cores":2,"gomaxprocs":2,"gogc":"100","go":"go1.25.0"}`), &m); err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Facts() {
		if f.Name == "memory" || f.Name == "open files" {
			t.Errorf("it knows %+v", f)
		}
	}
	newer := m
	newer.OpenFiles, newer.Memory = 1024, 1<<30
	if d := Differences(m, newer); len(d) != 0 {
		t.Errorf("what only one knows became a difference: %+v", d)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "open_files") {
		t.Errorf("what is not known was written: %s", text)
	}
}

func TestDifferencesOfMachines(t *testing.T) {
	a := Machine{OS: "linux", Arch: "amd64", CPU: "X", Cores: 2, GOMAXPROCS: 2, GOGC: "100", Go: "go1.25.0"}
	b := a
	if d := Differences(a, b); d != nil {
		t.Errorf("%+v", d)
	}
	b.CPU, b.Go = "Y", "go1.26.0"
	want := []Difference{{"processor", "X", "Y", true}, {"Go", "go1.25.0", "go1.26.0", false}}
	if got := Differences(a, b); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestFactsAreShortLines(t *testing.T) {
	m := This()
	m.OpenFiles, m.GOMEMLIMIT, m.Memory = 1<<64-1, 512<<20, 16<<30
	got := map[string]string{}
	for _, f := range m.Facts() {
		if f.Value == "" || strings.ContainsAny(f.Value, "\n\t") {
			t.Errorf("%+v", f)
		}
		got[f.Name] = f.Value
	}
	for name, want := range map[string]string{"open files": "unlimited", "GOMEMLIMIT": "512 MiB", "memory": "16 GiB"} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}
