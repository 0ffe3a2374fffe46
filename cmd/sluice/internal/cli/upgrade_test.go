//go:build linux

package cli

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// logs waits until the log has a text.
func (s *serveRun) logs(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(serveWait); !strings.Contains(s.log.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q is not in the log:\n%s", text, s.log.String())
		}
	}
}

// reached fails the test unless a server accepts connections.
func reached(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// upgradeTries is how often an upgrade is tried: where a busy machine takes longer than may
// be, the old server goes on.
const upgradeTries = 10

// replaced starts a server that takes over from s.
func (s *serveRun) replaced(t *testing.T, args ...string) (next *serveRun, r serveReady) {
	t.Helper()
	for try := 1; ; try++ {
		next = startServe(t, nil, append(args, "--upgrade")...)
		if _, err := next.out.Peek(1); err == nil {
			return next, next.ready(t)
		}
		_, exit := next.end(t)
		if try == upgradeTries {
			t.Fatalf("no upgrade: exit %d, %s; log of the old one:\n%s", exit, next.stderr.String(), s.log.String())
		}
		s.logs(t, "upgrade failed, this server goes on")
	}
}

func TestServeUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	args := []string{"--json", "--srt", "off", "--upgrade-socket", path}
	s := startServe(t, nil, args...)
	first := s.ready(t)
	for range 2 {
		next, r := s.replaced(t, args...)
		if r.RTMP != first.RTMP || r.HTTP != first.HTTP || r.PID == first.PID {
			t.Errorf("%+v, was %+v", r, first)
		}
		if rest, exit := s.end(t); rest != "" || exit != ExitOK {
			t.Errorf("the old one: %q, exit %d, log:\n%s", rest, exit, s.log.String())
		}
		reached(t, first.HTTP)
		s = next
	}
	if _, exit := s.end(t, syscall.SIGTERM); exit != ExitOK {
		t.Errorf("exit %d", exit)
	}
	alone := startServe(t, nil, append(args, "--upgrade")...)
	if _, exit := alone.end(t); exit == ExitOK || !strings.Contains(alone.stderr.String(), path) {
		t.Errorf("without a server: exit %d, %s", exit, alone.stderr.String())
	}
}

// A successor with settings that it cannot serve with leaves the server as it is, whose log
// says why.
func TestServeUpgradeThatCannotListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	args := []string{"--json", "--srt", "off", "--upgrade-socket", filepath.Join(t.TempDir(), "s")}
	s := startServe(t, nil, args...)
	first := s.ready(t)
	for _, wrong := range [][]string{{"--pprof", taken.Addr().String()}, {"--bans-file", "/dev/null/none"}} {
		next := startServe(t, nil, slices.Concat(args, wrong, []string{"--upgrade"})...)
		if _, exit := next.end(t); exit == ExitOK || !strings.Contains(next.stderr.String(), wrong[1]) {
			t.Errorf("%v: exit %d, %s", wrong, exit, next.stderr.String())
		}
		s.logs(t, "upgrade failed, this server goes on")
		s.logs(t, wrong[1])
		reached(t, first.HTTP)
		reached(t, first.RTMP)
	}
	if _, exit := s.end(t, syscall.SIGTERM); exit != ExitOK {
		t.Errorf("exit %d", exit)
	}
}

// programCopy puts this program to where a test can replace it.
func programCopy(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sluice")
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	return path
}

// replaceProgram puts another program in its place, as a package manager does.
func replaceProgram(t *testing.T, path, script string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestServeUpgradesBySignal(t *testing.T) {
	path := programCopy(t)
	s := newServe(t, nil, "--json", "--srt", "off")
	s.Path = path
	s.start(t)
	first := s.ready(t)
	old := path + ".old"
	if err := os.Rename(path, old); err != nil {
		t.Fatal(err)
	}
	for i, script := range []string{"exit 3", "exec sleep 1000"} {
		replaceProgram(t, path, script)
		if err := s.Process.Signal(syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(serveWait); strings.Count(s.log.String(), "no upgrade") <= i; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%q: the log does not say that there was no upgrade:\n%s", script, s.log.String())
			}
		}
		reached(t, first.HTTP)
	}
	if err := os.Rename(old, path); err != nil {
		t.Fatal(err)
	}
	failures := func() int {
		return strings.Count(s.log.String(), "no upgrade") + strings.Count(s.log.String(), "upgrade failed")
	}
	handed := func() bool { return strings.Contains(s.log.String(), "handed over") }
	for try := 1; !handed(); try++ {
		before := failures()
		if err := s.Process.Signal(syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(serveWait); !handed() && failures() == before; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("neither an upgrade nor a failure:\n%s", s.log.String())
			}
		}
		if try == upgradeTries {
			t.Fatalf("no upgrade:\n%s", s.log.String())
		}
	}
	next := s.ready(t)
	if next.RTMP != first.RTMP || next.HTTP != first.HTTP || next.PID == first.PID {
		t.Errorf("%+v, was %+v", next, first)
	}
	s.logs(t, "handed over")
	reached(t, first.HTTP)
	successor, err := os.FindProcess(next.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := successor.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, exit := s.end(t); exit != ExitOK { // when both have closed their output
		t.Errorf("exit %d, log:\n%s", exit, s.log.String())
	}
}
