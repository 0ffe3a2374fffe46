package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestAResultIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "result.json"), filepath.Join(dir, "link.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("result.json", link); err != nil {
		t.Skip(err)
	}
	full := errors.New("no space left")
	for _, name := range []string{path, link, filepath.Join(dir, "other.json")} {
		err := App{}.put(name, func(w io.Writer) error {
			io.WriteString(w, "ha")
			return full
		})
		if text, _ := os.ReadFile(path); !errors.Is(err, full) || string(text) != "old" {
			t.Errorf("%s, on a full disk: %v, and the file has %q", name, err, text)
		}
	}
	if err := (App{}).put(link, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	info, err := os.Lstat(path)
	if err != nil || string(text) != "new" || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%q, %v, %v", text, info.Mode(), err)
	}
	if to, err := os.Readlink(link); to != "result.json" {
		t.Errorf("the link goes to %q: %v", to, err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 2 {
		t.Errorf("left behind: %v", list)
	}
}
