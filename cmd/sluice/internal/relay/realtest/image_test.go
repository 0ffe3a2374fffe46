//go:build linux

package realtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
)

// A builder is buildah with images of its own.
type builder struct{ dir string }

// run returns what buildah prints.
func (b builder) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "buildah", append([]string{"--root", b.dir + "/store", "--runroot", b.dir + "/run", "--storage-driver", "vfs"}, args...)...)
	var stderr strings.Builder
	cmd.Dir, cmd.Stderr = "../../../../..", &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("buildah %q: %v\n%s%s", args, err, stderr.String(), out)
	}
	return strings.TrimSpace(string(out))
}

// goEnv is what the go command says of a variable.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// golang makes an image that stands in for Go's, which comes from a registry: a shell,
// mkdir, certificates, and the variables that the other has. Go and the modules are
// this machine's, mounted by volumes.
func (b builder) golang(t *testing.T) (volumes []string) {
	t.Helper()
	root := filepath.Join(b.dir, "golang")
	put := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(root+to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(root+to, text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "mkdir"} {
		path := tool(t, name)
		put(path, "/bin/"+name)
		out, err := exec.CommandContext(t.Context(), "ldd", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, lib := range regexp.MustCompile(`/\S+`).FindAllString(string(out), -1) {
			put(lib, lib)
		}
	}
	const certificates = "/etc/ssl/certs/ca-certificates.crt"
	put(certificates, certificates)
	for _, dir := range []string{"/tmp", "/go/pkg/mod", "/usr/local/go", "/go/cache"} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	from := b.run(t, "from", "scratch")
	b.run(t, "copy", "-q", from, root, "/")
	b.run(t, "config", "--env", "PATH=/usr/local/go/bin:/bin", "--env", "GOPATH=/go", "--env", "GOCACHE=/go/cache", "--env", "GOTOOLCHAIN=local", "--env", "GOPROXY=off", "--workingdir", "/go", from)
	b.run(t, "commit", "-q", from, "docker.io/library/golang:1.25")
	return []string{"--volume", goEnv(t, "GOROOT") + ":/usr/local/go:ro", "--volume", goEnv(t, "GOMODCACHE") + ":/go/pkg/mod:ro", "--volume", goEnv(t, "GOCACHE") + ":/go/cache"}
}

// The image is built by every line of its file, and runs as it says: the program by a
// user without rights, its root read-only, only the volume writable. Its health check
// tells a server that serves from one that does not, and it ends when it is asked to.
func TestImage(t *testing.T) {
	t.Parallel()
	long(t, "it builds the image")
	if os.Getuid() != 0 {
		t.Skip("only root can build and enter an image")
	}
	if _, err := exec.LookPath("buildah"); err != nil {
		t.Skip("there is no buildah here, which builds images without a daemon")
	}
	b := builder{t.TempDir()}
	args := append([]string{"build", "--isolation=chroot", "--pull-never", "--format", "docker", "--file", "deploy/Dockerfile", "--tag", "sluice"}, b.golang(t)...)
	b.run(t, append(args, ".")...)

	var image struct {
		Docker struct {
			Config struct {
				User, WorkingDir, StopSignal string
				Env, Entrypoint, Cmd         []string
				ExposedPorts, Volumes        map[string]any
				Healthcheck                  struct{ Test []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(b.run(t, "inspect", "--type", "image", "sluice")), &image); err != nil {
		t.Fatal(err)
	}
	c := image.Docker.Config
	if _, ok := c.Volumes["/data"]; !ok || c.User != "65532:65532" || c.WorkingDir != "/data" || c.StopSignal != "SIGTERM" || len(c.Healthcheck.Test) == 0 || len(c.ExposedPorts) != 6 {
		t.Fatalf("the image says %+v", c)
	}
	root := b.run(t, "mount", b.run(t, "from", "--pull-never", "sluice"))
	data := t.TempDir()
	info, err := os.Stat(root + "/data")
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if err := os.Chown(data, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
	// As an engine does: a volume has the owner of the directory in the image.
	inside := func(env []string, command ...string) *process {
		const enter = `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount --bind "$1" "$0/data" && d=$0 && shift && exec unshare --root "$d" --wd "$@"`
		line := append([]string{"--mount", "sh", "-c", enter, root, data, c.WorkingDir, "--setgid", "65532", "--setuid", "65532"}, command...)
		return start(t, append(env, c.Env...), "unshare", line...)
	}
	env := []string{"SLUICE_API_TOKEN=" + apiToken, "SLUICE_RTMP=127.0.0.1:0", "SLUICE_RTSP=off", "SLUICE_WEBRTC=off", "SLUICE_SRT=off",
		"SLUICE_HTTP=" + loopback.Free(t), "SLUICE_RECORD=/data/recordings"}
	s := &server{process: inside(env, append(append(c.Entrypoint, c.Cmd...), "--json")...)}
	eventually(t, lengthened(10*time.Second), func() string {
		if s.ended() {
			t.Fatalf("it ended: %v: %s", s.err, s.stderr.tail(20))
		}
		if line, _, whole := strings.Cut(s.stdout.String(), "\n"); !whole || json.Unmarshal([]byte(line), s) != nil {
			return "no line on standard output"
		}
		return ""
	})
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), "status"))
	if err != nil || !strings.Contains(string(status), "\nUid:\t65532\t65532\t65532\t65532\n") || !strings.Contains(string(status), "\nCapEff:\t0000000000000000\n") {
		t.Errorf("%v: it runs as %s", err, status)
	}
	healthy := func() int { return inside(env, c.Healthcheck.Test[1:]...).wait(t, lengthened(10*time.Second)) }
	if code := healthy(); code != 0 {
		t.Errorf("the health check of a server that serves: exit code %d", code)
	}
	publisher, err := publishRTMP(dial(t, s.RTMP, false), "live", "s")
	if err != nil {
		t.Fatal(err)
	}
	f := feedTo(t, publisher, pace{})
	s.awaitLive(t, "live/s")
	v := s.view(t, "flv", "s", "")
	v.awaitMedia(t, 50)
	f.stop()
	checkRun(t, v.name, v.media(), f.published())
	s.signal(t, syscall.SIGTERM)
	if code := s.wait(t, lengthened(15*time.Second)); code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr.tail(10))
	}
	if files, err := filepath.Glob(data + "/recordings/live/s*.flv"); err != nil || len(files) != 1 {
		t.Errorf("recorded: %v, %v; %s", files, err, s.stderr.tail(10))
	}
	if code := healthy(); code != 1 {
		t.Errorf("the health check when there is no server: exit code %d", code)
	}
}

// Compose takes the examples, and none runs without its secrets.
func TestComposeExamples(t *testing.T) {
	t.Parallel()
	compose := []string{"docker-compose"}
	if exec.CommandContext(t.Context(), "docker", "compose", "version").Run() == nil {
		compose = []string{"docker", "compose"}
	} else if _, err := exec.LookPath(compose[0]); err != nil {
		t.Skip("there is no Compose here")
	}
	for _, c := range []struct{ file, secret string }{{"compose.yaml", "SLUICE_API_TOKEN"}, {"cluster.yaml", "SLUICE_CLUSTER_SECRET"}} {
		args := append(compose[1:], "-f", filepath.Join("../../../../../deploy", c.file), "config", "--quiet")
		p := start(t, []string{"SLUICE_API_TOKEN=a", "SLUICE_CLUSTER_SECRET=b"}, compose[0], args...)
		if code := p.wait(t, lengthened(20*time.Second)); code != 0 || p.stderr.String() != "" {
			t.Errorf("%s: exit code %d: %s", c.file, code, p.stderr.tail(10))
		}
		p = start(t, []string{c.secret + "="}, compose[0], args...)
		if code := p.wait(t, lengthened(20*time.Second)); code == 0 || !strings.Contains(p.stderr.String(), "choose") {
			t.Errorf("%s without %s: exit code %d: %s", c.file, c.secret, code, p.stderr.tail(10))
		}
	}
}
