package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const (
	version = "v0.98.7"
	module  = "github.com/sluice-go/sluice"
)

// A clone is a copy of the repository that a test may change.
type clone struct {
	t   *testing.T
	dir string
	env []string
}

// newClone clones the commit that is checked out. It skips where there is none.
func newClone(t *testing.T) *clone {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts need a shell")
	}
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skip("this is no checkout")
	}
	c := &clone{t: t, dir: filepath.Join(t.TempDir(), "clone")}
	c.env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if said, err := exec.CommandContext(t.Context(), "git", "clone", "-q", "../..", c.dir).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, said)
	}
	return c
}

// try runs a command in the clone.
func (c *clone) try(name string, args ...string) (said string, err error) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), name, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (c *clone) must(name string, args ...string) string {
	c.t.Helper()
	said, err := c.try(name, args...)
	if err != nil {
		c.t.Fatalf("%s %q: %v\n%s", name, args, err, said)
	}
	return said
}

func (c *clone) refused(says string, args ...string) {
	c.t.Helper()
	before := c.must("git", "rev-parse", "HEAD")
	said, err := c.try("scripts/release.sh", args...)
	if err == nil || !strings.Contains(said, says) {
		c.t.Errorf("release.sh %q: %v, said %q, want %q", args, err, said, says)
	}
	if after := c.must("git", "rev-parse", "HEAD"); after != before {
		c.t.Errorf("release.sh %q committed", args)
	}
}

func TestReleaseIsRefused(t *testing.T) {
	c := newClone(t)
	c.refused("usage")
	c.refused("usage", "0.98.7")
	c.refused("usage", "v0.98.7-rc1")
	c.must("git", "tag", "lab/"+version)
	c.refused("lab/"+version, version)
	c.must("git", "tag", "-d", "lab/"+version)
	if err := os.WriteFile(filepath.Join(c.dir, "new.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.refused("not committed", version)
	c.must("rm", "new.txt")
	if err := os.WriteFile(filepath.Join(c.dir, "CHANGELOG.md"), []byte("## [Unreleased]\n\n## [0.1.0] - 2026-01-01\n- a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c.must("git", "commit", "-qam", "changelog: nothing new")
	c.refused("no entry", version)
}

func TestProgramsInstallFromARelease(t *testing.T) {
	c := newClone(t)
	c.must("scripts/release.sh", version)
	if tags := strings.Fields(c.must("git", "tag", "--points-at", "HEAD")); len(tags) != 4 {
		t.Errorf("tags %q", tags)
	}
	if text := c.must("git", "show", "HEAD:CHANGELOG.md"); !strings.Contains(text, "## [Unreleased]\n\n## [0.98.7] - ") || !strings.Contains(text, "`lab/v0.98.7`") {
		t.Error("the changelog does not have the version")
	}
	// The commit of the release is a checkout in which people go on to work.
	c.must("go", "build", "-o", filepath.Join(t.TempDir(), "built"), "./cmd/sluice")

	proxy, bin := filepath.Join(t.TempDir(), "proxy"), t.TempDir()
	c.must("scripts/module-proxy.sh", proxy, version, version)
	// Third parties come from what has been fetched already. Trimmed paths let
	// the build cache know them again in a cache at another place.
	cached := strings.TrimSpace(c.must("go", "env", "GOMODCACHE"))
	c.dir = t.TempDir()
	c.env = append(c.env, "GOPROXY=file://"+proxy+",file://"+cached+"/cache/download,"+c.must("go", "env", "GOPROXY"), "GOMODCACHE="+t.TempDir(),
		"GOFLAGS=-modcacherw -trimpath", "GOSUMDB=off", "GOBIN="+bin)
	for pkg, name := range map[string]string{"/cmd/sluice": "sluice", "/lab": "lab"} {
		c.must("go", "install", module+pkg+"@"+version)
		if said := c.must(filepath.Join(bin, name), "version"); !strings.HasPrefix(said, name+" "+version+" ") {
			t.Errorf("%s version says %q", name, said)
		}
	}
	c.must("go", "install", module+"/vet/sluicevet@"+version)
}
