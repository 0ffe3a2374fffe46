//go:build linux

package realtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/load"
)

// program finds a program that scripts/ensure-tools.sh installs.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if path = "/usr/sbin/" + name; exec.Command(path, "-v").Run() != nil {
			t.Fatalf("%s is not installed: scripts/ensure-tools.sh installs it", name)
		}
	}
	return path
}

// startTime is how long a server may take to start: the first time, from a cold disk beside
// other tests, that is long.
const startTime = 2 * time.Minute

// started starts a server that ends with the test, and waits for a line that contains
// ready.
func started(t *testing.T, cmd *exec.Cmd, name, ready string) *child.Process {
	t.Helper()
	p, err := child.Start(cmd, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	for {
		line, err := p.Line(context.Background(), startTime)
		if err != nil {
			t.Fatalf("%s: %v; it says %q", name, err, p.Said())
		}
		if strings.Contains(line, ready) {
			return p
		}
	}
}

// nginxText is one process that answers with 200 bytes, and with failures; the TLS
// part is for the certificate in its directory.
const nginxText = `daemon off;
master_process off;
worker_processes 1;
pid nginx.pid;
error_log /dev/stdout notice;
events { worker_connections 1024; use epoll; }
http {
	access_log off;
	keepalive_requests %d;
	client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
	server {
		listen %s;
		listen %s ssl http2;
		ssl_certificate cert.pem;
		ssl_certificate_key key.pem;
		location / { return 200 "%s"; }
		location /busy { return 503; }
	}
}
`

const nginxBody = 200 // bytes

// An nginx is a running one.
type nginx struct {
	*child.Process
	plain, secure string // addresses
	cert          string // the file of its certificate
}

// startNginx starts one that ends each connection after so many requests.
func startNginx(t *testing.T, perConn int) *nginx {
	t.Helper()
	dir := t.TempDir()
	make := exec.Command(program(t, "openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
		"-days", "2", "-subj", "/CN=sluice test", "-addext", "subjectAltName=IP:"+loopback.Host())
	make.Dir = dir
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("openssl: %v: %s", err, out)
	}
	n := &nginx{plain: loopback.Free(t), secure: loopback.Free(t), cert: filepath.Join(dir, "cert.pem")}
	text := fmt.Sprintf(nginxText, perConn, n.plain, n.secure, strings.Repeat("x", nginxBody))
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// It listens before it says which events it uses.
	n.Process = started(t, exec.Command(program(t, "nginx"), "-p", dir, "-c", config), "nginx", `using the "epoll" event method`)
	return n
}

// startRedis starts one that keeps nothing, and returns its address.
func startRedis(t *testing.T, args ...string) (*child.Process, string) {
	t.Helper()
	addr := loopback.Free(t)
	host, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(program(t, "redis-server"), append([]string{"--bind", host, "--port", port, "--save", "", "--appendonly", "no"}, args...)...)
	cmd.Dir = t.TempDir()
	return started(t, cmd, "redis-server", "Ready to accept connections"), addr
}

// run runs a plan in which nothing must fail, for long enough to answer a few dozen requests.
// That the machine is busy with other tests is no matter: the run need not be valid.
func run(t *testing.T, p load.Plan) *load.Result {
	t.Helper()
	r, err := load.Run(t.Context(), p, nil)
	for err == nil && r.Requests < 50 && r.Errors == 0 && p.Duration < 10*time.Second {
		p.Duration *= 4
		r, err = load.Run(t.Context(), p, nil)
	}
	if err != nil {
		t.Fatalf("%s: %v", p.Target, err)
	}
	if r.Requests == 0 || r.Errors > 0 {
		t.Fatalf("%s: %d requests, %d errors: %s", p.Target, r.Requests, r.Errors, r.Error)
	}
	return r
}
