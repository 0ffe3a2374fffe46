package release

import (
	"debug/elf"
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
	cmd.WaitDelay = time.Minute
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

// The files of a release for this machine are made and whole.
func TestFilesOfARelease(t *testing.T) {
	system := runtime.GOOS + "-" + runtime.GOARCH
	if os.Getenv("SLUICE_LONG") == "" || system != "linux-amd64" && system != "linux-arm64" {
		t.Skip("make long builds the program as a release has it, on Linux")
	}
	c := newClone(t)
	c.must("scripts/release.sh", version)
	if said, err := c.try("go", "run", "./cmd/internal/dist", "-only", runtime.GOOS+"/"+runtime.GOARCH, "v0.98.8", t.TempDir()); err == nil || !strings.Contains(said, "check out its tag") {
		t.Errorf("files of a version that is not checked out: %v: %s", err, said)
	}
	dir := t.TempDir()
	c.must("go", "run", "./cmd/internal/dist", "-only", runtime.GOOS+"/"+runtime.GOARCH, version, dir)
	c.must("sh", "-c", `cd "$1" && sha256sum --check --strict SHA256SUMS && tar -xzf sluice-*.tar.gz`, "sh", dir)
	stem := filepath.Join(dir, "sluice-"+strings.TrimPrefix(version, "v")+"-"+system)
	if said := c.must(filepath.Join(stem, "sluice"), "version"); !strings.HasPrefix(said, "sluice "+version+" ") {
		t.Errorf("the packed program says %q", said)
	}
	program, err := elf.Open(filepath.Join(stem, "sluice"))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if libraries, err := program.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the program needs %q: %v", libraries, err)
	}
	for _, name := range []string{"LICENSE", "sluice.yaml", "man/sluice-serve.1", "completion/sluice.bash", "deploy/sluice.service"} {
		if info, err := os.Stat(filepath.Join(stem, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(stem + ".cdx.json"); err != nil || !strings.Contains(string(text), "pkg:golang/"+module+"@"+version) || !strings.Contains(string(text), "prometheus/client_golang@v") {
		t.Errorf("%v: the bill of materials is %.300s", err, text)
	}
	packages, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
	if lintian, err := exec.LookPath("lintian"); err == nil {
		c.must(lintian, append([]string{"--fail-on", "error,warning", "--allow-root"}, packages...)...)
	}
	c.installDebian(packages[0])
}

// installDebian installs a package below a directory of its own, where there is dpkg and
// the right to, and removes it: nothing stays, except, until it is purged, the settings.
func (c *clone) installDebian(deb string) {
	c.t.Helper()
	dpkg, err := exec.LookPath("dpkg")
	if err != nil || os.Getuid() != 0 {
		return
	}
	root := c.t.TempDir()
	c.must("mkdir", "-p", root+"/var/lib/dpkg/info", root+"/var/lib/dpkg/updates")
	c.must("touch", root+"/var/lib/dpkg/status")
	in := []string{"--root=" + root, "--force-script-chrootless", "--log=/dev/null"}
	c.must(dpkg, append(in, "--install", deb)...)
	settings := filepath.Join(root, "etc/sluice/sluice.yaml")
	c.must(filepath.Join(root, "usr/bin/sluice"), "config", "check", settings)
	for _, step := range []struct {
		option string
		kept   bool
	}{{"--remove", true}, {"--purge", false}} {
		c.must(dpkg, append(in, step.option, "sluice")...)
		if _, err := os.Stat(settings); (err == nil) != step.kept {
			c.t.Errorf("after dpkg %s the settings: %v", step.option, err)
		}
		if left, _ := filepath.Glob(root + "/usr/*/sluice*"); len(left) > 0 {
			c.t.Errorf("dpkg %s leaves %q", step.option, left)
		}
	}
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
	c.must("go", "list", "-deps", "./cmd/sluice", "./lab", "./vet/sluicevet")

	proxy, modules, bin := filepath.Join(t.TempDir(), "proxy"), t.TempDir(), t.TempDir()
	c.must("scripts/module-proxy.sh", proxy, version, version)
	c.must("scripts/module-cache.sh", modules)
	// Trimmed paths let the build cache know third parties again in a cache at another place.
	cached := strings.TrimSpace(c.must("go", "env", "GOMODCACHE"))
	c.dir = t.TempDir()
	c.env = append(c.env, "GOPROXY=file://"+proxy+",file://"+cached+"/cache/download,"+c.must("go", "env", "GOPROXY"), "GOMODCACHE="+modules,
		"GOFLAGS=-modcacherw -trimpath -ldflags=-w", "GOSUMDB=off", "GOBIN="+bin)
	for pkg, name := range map[string]string{"/cmd/sluice": "sluice", "/lab": "lab"} {
		if name == "lab" && os.Getenv("SLUICE_LONG") == "" {
			// Its modules are resolved as by an installation, and what that would run is printed: to compile takes half a minute.
			c.must("go", "install", "-n", module+pkg+"@"+version)
			continue
		}
		c.must("go", "install", module+pkg+"@"+version)
		if said := c.must(filepath.Join(bin, name), "--version"); !strings.HasPrefix(said, name+" "+version+" ") {
			t.Errorf("%s --version says %q", name, said)
		}
	}
	c.must("go", "install", module+"/vet/sluicevet@"+version)
}
