package doctor

import (
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/testcert"
)

// want fails unless one of the findings is of this severity and says something.
func want(t *testing.T, findings []Finding, severity Severity, what, says string) {
	t.Helper()
	for _, f := range findings {
		if strings.Contains(f.What, what) && f.Severity == severity && strings.Contains(f.Says, says) {
			return
		}
	}
	t.Errorf("no %s of %q that says %q in %+v", severity, what, says, findings)
}

func TestPorts(t *testing.T) {
	l, err := net.Listen("tcp", loopback.Host()+":0") // which no other program gets when it is closed
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.RTMP, c.HTTP, c.HTTPS, c.PProf = l.Addr().String(), "127.0.0.1:0", "192.0.2.1:1", l.Addr().String()
	findings := Look(t.Context(), c)
	want(t, findings, Problem, "pprof "+c.PProf, "another program listens there")
	want(t, findings, Problem, "rtmp "+c.RTMP, "another program listens there")
	want(t, findings, OK, "http 127.0.0.1:0", "free")
	want(t, findings, Problem, "https", "192.0.2.1")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, Look(t.Context(), c), OK, "rtmp "+c.RTMP, "free")
}

// Those over UDP too, and both where one address is used over TCP and UDP.
func TestPortsOfUDP(t *testing.T) {
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := config.Default()
	c.RTMP, c.HTTP, c.RTSP = "off", "off", "off"
	c.SRT, c.WebRTC = l.LocalAddr().String(), l.LocalAddr().String()
	c.Cluster, c.ClusterAddress = true, "127.0.0.1:0"
	findings := Look(t.Context(), c)
	want(t, findings, Problem, "srt "+c.SRT+" (UDP)", "another program listens there")
	want(t, findings, Problem, "webrtc "+c.WebRTC+" (UDP)", "another program listens there")
	want(t, findings, OK, "cluster-address 127.0.0.1:0", "free")
	// The same number may be in use over TCP just now, so that is looked at with any port.
	c.WebRTC = "127.0.0.1:0"
	findings = Look(t.Context(), c)
	want(t, findings, OK, "webrtc 127.0.0.1:0 (UDP)", "free")
	if n := strings.Count(fmt.Sprint(findings), "webrtc 127.0.0.1:0"); n != 2 {
		t.Errorf("%d findings of the port of WebRTC, want that of UDP and that of TCP", n)
	}
	if got := next("host:8554"); got != "host:8555" {
		t.Errorf("after port 8554 comes %q", got)
	}
}

// sysctls makes a directory like /proc/sys.
func sysctls(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestKernel(t *testing.T) {
	c := config.Default()
	small := kernel(sysctls(t, map[string]string{"net/core/somaxconn": "128\n", "net/ipv4/tcp_mem": "10\t20\t30\n"}), c)
	want(t, small, Warning, "somaxconn", "128: a burst")
	want(t, small, Warning, "tcp_mem", "20000 viewers who lag")
	large := kernel(sysctls(t, map[string]string{"net/core/somaxconn": "4096\n", "net/ipv4/tcp_mem": "1 2 99999999\n"}), c)
	want(t, large, OK, "somaxconn", "4096")
	want(t, large, OK, "tcp_mem", "MiB")
	broken := kernel(sysctls(t, map[string]string{"net/core/somaxconn": "many\n"}), c)
	want(t, broken, Unknown, "somaxconn", "not known")
	want(t, broken, Unknown, "tcp_mem", "not known")
	if runtime.GOOS == "linux" && math.MaxInt > math.MaxInt32 {
		c.MaxMemory = math.MaxInt
		want(t, kernel(t.TempDir(), c), Warning, "memory", "--max-memory is")
	}
}

func TestDescriptors(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such limit")
	}
	c := config.Default()
	c.MaxViewers = math.MaxInt32
	want(t, descriptors(c), Warning, "descriptors", "raise LimitNOFILE")
	c.MaxViewers, c.MaxStreams, c.MaxHandshakes = 10, 10, 10
	want(t, descriptors(c), OK, "descriptors", "94 are needed")
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	if f := directory("record", dir); f.Severity != OK && f.Severity != Warning {
		t.Errorf("%+v", f)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	want(t, []Finding{directory("record", filepath.Join(dir, "none"))}, Warning, "record", "not there")
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, []Finding{directory("record", file)}, Problem, "record", "file")
}

// serve does not start where it cannot make a directory, or replace the file of bans.
func TestDirectoriesThatMayNotBeWritten(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what refuses also root its files differs")
	}
	dir := "/sys"
	if os.Getuid() != 0 {
		dir = t.TempDir()
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	c := config.Default()
	c.Record, c.BansFile = filepath.Join(dir, "none", "below"), filepath.Join(dir, "bans.json")
	findings := Look(t.Context(), c)
	want(t, findings, Problem, "record "+c.Record, "serve cannot make it")
	want(t, findings, Problem, "bans-file "+c.BansFile, dir)
	dir = t.TempDir()
	c.Record, c.BansFile = filepath.Join(dir, "none", "below"), filepath.Join(dir, "bans.json")
	findings = Look(t.Context(), c)
	want(t, findings, Warning, "record "+c.Record, "serve makes it")
	want(t, findings, OK, "bans-file "+c.BansFile, "writable")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// serve does not start where others could put a socket of their own into the place of its own.
func TestDirectoryOfTheUpgradeSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has other permissions")
	}
	dir := t.TempDir()
	c := config.Default()
	for mode, want := range map[os.FileMode]Severity{0o700: OK, 0o755: OK, 0o775: Problem, 0o1777: Problem} {
		if err := os.Chmod(dir, mode.Perm()); err != nil {
			t.Fatal(err)
		}
		c.UpgradeSocket = filepath.Join(dir, "upgrade.sock")
		if f := upgradeFindings(t, c); len(f) != 1 || f[0].Severity != want {
			t.Errorf("%o: %+v", mode, f)
		}
	}
	c.UpgradeSocket = filepath.Join(dir, "none", "upgrade.sock")
	want(t, upgradeFindings(t, c), Problem, "upgrade-socket", "no such file")
	c.UpgradeSocket = "off"
	if f := upgradeFindings(t, c); len(f) != 0 {
		t.Errorf("off: %+v", f)
	}
}

func upgradeFindings(t *testing.T, c config.Config) (list []Finding) {
	t.Helper()
	for _, f := range Look(t.Context(), c) {
		if strings.HasPrefix(f.What, "upgrade-socket") {
			list = append(list, f)
		}
	}
	return list
}

func TestCertificate(t *testing.T) {
	const day = 24 * time.Hour
	until := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for before, severity := range map[time.Duration]Severity{30 * day: OK, day: Warning, -time.Hour: Problem, 400 * day: Problem} {
		if f := validity("certificate", until.Add(-365*day), until, until.Add(-before)); f.Severity != severity {
			t.Errorf("%v before its end: %+v, want %s", before, f, severity)
		}
	}
	cert, key := testcert.Files(t)
	want(t, []Finding{certificate(cert, key, time.Now())}, Warning, cert, "expires on")
	want(t, []Finding{certificate(cert, cert, time.Now())}, Problem, cert, "key")
}
