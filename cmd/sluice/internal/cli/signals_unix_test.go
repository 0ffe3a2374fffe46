//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestManyReloadsDoNotCostTheEnd has signals of one kind come, of which none is received, as while
// the configuration is read, and then two that end the server.
func TestManyReloadsDoNotCostTheEnd(t *testing.T) {
	s, stop := receiveSignals()
	defer stop()
	send := func(sig syscall.Signal, to chan os.Signal, want int) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		for late := time.Now().Add(serveWait); len(to) < want; {
			if time.Now().After(late) {
				t.Fatalf("%v has not come", sig)
			}
		}
	}
	for range 20 {
		send(syscall.SIGHUP, s.reload, 1)
	}
	send(syscall.SIGTERM, s.end, 1)
	send(syscall.SIGTERM, s.end, 2)
}

// TestAReloadThatHangsDoesNotKeepTheServer has the configuration on a disk that does not answer, as one
// of another machine may: a pipe that has no end.
func TestAReloadThatHangsDoesNotKeepTheServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, nil, "--json", "--config", file)
	s.ready(t)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(serveWait); ; {
		// Without a reader it cannot be opened.
		pipe, err := os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			defer pipe.Close()
			break
		}
		if time.Now().After(late) {
			t.Fatal(err)
		}
	}
	if _, exit := s.end(t, syscall.SIGTERM); exit != ExitOK {
		t.Errorf("exit code %d: %s", exit, s.stderr.String())
	}
}
