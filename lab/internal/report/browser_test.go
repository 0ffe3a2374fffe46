package report

import (
	"context"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browser finds a Chromium, which make test installs.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium on this machine: scripts/ensure-tools.sh installs one")
	return ""
}

// browse opens a page with the given flags and returns what is printed.
func browse(t *testing.T, page string, flags ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	args := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir=" + t.TempDir(),
	}, flags...)
	cmd := exec.CommandContext(ctx, browser(t), append(args, "file://"+page)...)
	cmd.WaitDelay = time.Minute
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return string(out)
}

func TestPageOpensInABrowser(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "report.html")
	if err := os.WriteFile(page, []byte(rendered(t, fixture())), 0o600); err != nil {
		t.Fatal(err)
	}

	dom := browse(t, page, "--dump-dom")
	for _, want := range []string{"<table", "<svg", "</html>"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page that the browser built has no %s", want)
		}
	}

	shot := filepath.Join(dir, "shot.png")
	browse(t, page, "--screenshot="+shot, "--window-size=1100,1600")
	f, err := os.Open(shot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	// A page that did not paint is one colour.
	colours := make(map[[3]uint32]bool)
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += 3 {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += 3 {
			r, g, b, _ := img.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	if len(colours) < 8 {
		t.Errorf("the picture of the page has %d colours, it looks empty", len(colours))
	}
}
