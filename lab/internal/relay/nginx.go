package relay

import (
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Nginx is nginx with its RTMP module, the peer.
type Nginx struct {
	// Cork is how many messages are collected before they are sent; 0: none
	// are. Sound is never collected, so that in effect pictures wait for the next
	// packet of sound, and more than one or two make no difference.
	Cork int
}

var nginxModules = []string{"/usr/lib/nginx/modules/ngx_rtmp_module.so", "/usr/lib64/nginx/modules/ngx_rtmp_module.so", "/usr/share/nginx/modules/ngx_rtmp_module.so"}

// nginxText is a configuration with places for the module, the files of the process and of its log,
// the address, and what Nginx sets.
//
//go:embed nginx.conf
var nginxText string

// nginxHere finds the program and its module. Where one of them is not installed
// the error wraps errors.ErrUnsupported.
func nginxHere() (program, module string, err error) {
	if program, err = exec.LookPath("nginx"); err != nil {
		// sbin is not in every user's PATH.
		if program = "/usr/sbin/nginx"; !exists(program) {
			return "", "", fmt.Errorf("relay: nginx is not installed: %w", errors.ErrUnsupported)
		}
	}
	if i := slices.IndexFunc(nginxModules, exists); i >= 0 {
		return program, nginxModules[i], nil
	}
	return "", "", fmt.Errorf("relay: nginx has no RTMP module (libnginx-mod-rtmp): %w", errors.ErrUnsupported)
}

// HasNginx reports whether nginx is there to compare with.
func HasNginx() bool {
	_, _, err := nginxHere()
	return err == nil
}

// Command returns the command that runs nginx with its files in dir, and the
// address that it will listen on. Where nginx is not installed the error wraps
// errors.ErrUnsupported.
func (n Nginx) Command(dir string) (*exec.Cmd, string, error) {
	path, module, err := nginxHere()
	if err != nil {
		return nil, "", err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	config := filepath.Join(dir, "nginx.conf")
	log := filepath.Join(dir, "error.log")
	settings := ""
	if n.Cork > 0 {
		settings = fmt.Sprintf("\t\tout_cork %d;\n\t\tbuffer 1s;\n", n.Cork)
	}
	text := fmt.Sprintf(nginxText, module, filepath.Join(dir, "nginx.pid"), log, addr, settings)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, "", err
	}
	return exec.Command(path, "-p", dir, "-e", log, "-c", config), addr, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// freeAddress returns an address of the loopback interface on which no process
// listens. If another process takes it first, listening on it fails with an error.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Accepts waits until a process listens at addr, for at most longest, or until
// gone is closed.
func Accepts(addr string, longest time.Duration, gone <-chan struct{}) error {
	for end := time.Now().Add(longest); ; {
		conn, err := net.Dial("tcp4", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-gone:
			return fmt.Errorf("relay: the server ended before it listened at %s: %w", addr, err)
		}
		if time.Now().After(end) {
			return fmt.Errorf("relay: no server listens at %s after %v: %w", addr, longest, err)
		}
	}
}
