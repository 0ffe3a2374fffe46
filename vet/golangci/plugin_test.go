package golangci

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
)

func TestRegistered(t *testing.T) {
	newPlugin, err := register.GetPlugin("sluicevet")
	if err != nil {
		t.Fatal(err)
	}
	models := filepath.Join(t.TempDir(), "own.models")
	if err := os.WriteFile(models, []byte("package example.com/ring\nRing.Next  result 0 borrowed from recv, recv ends\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := newPlugin(map[string]any{"models": models, "tests": true})
	if err != nil {
		t.Fatal(err)
	}
	list, err := p.BuildAnalyzers()
	if err != nil || len(list) != 1 || list[0].Name != "sluicevet" {
		t.Errorf("analyzers %v, %v", list, err)
	}
	if mode := p.GetLoadMode(); mode != register.LoadModeTypesInfo {
		t.Errorf("load mode %q", mode)
	}
}

func TestSettingsThatAreWrong(t *testing.T) {
	for _, c := range []struct {
		settings map[string]any
		says     string
	}{
		{map[string]any{"model": "x"}, "model"},
		{map[string]any{"models": "no-such-file"}, "no-such-file"},
	} {
		if _, err := New(c.settings); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want an error about %q", c.settings, err, c.says)
		}
	}
}
