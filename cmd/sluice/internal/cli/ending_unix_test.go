//go:build unix

package cli

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestASecondSignalEndsAtOnce has the disk for events hang, so that one signal is not enough, and nothing read the log,
// whose pipe is full.
func TestASecondSignalEndsAtOnce(t *testing.T) {
	reads, log, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reads.Close()
	defer log.Close()
	if err := log.SetWriteDeadline(time.Now().Add(time.Second / 4)); err != nil {
		t.Fatal(err)
	}
	for piece := make([]byte, 4<<10); err == nil; {
		_, err = log.Write(piece)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	events := t.TempDir()
	s := newServe(t, nil, "--json", "--event-hook", "http://127.0.0.1:9/", "--event-spool", events)
	s.Cmd.Stderr = log
	s.start(t)
	at := s.ready(t).RTMP
	if err := syscall.Mkfifo(filepath.Join(events, "position.new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(serveWait); ; {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			break // it has come
		}
		conn.Close()
		if time.Now().After(late) {
			t.Fatal("it listens")
		}
	}
	if _, exit := s.end(t, syscall.SIGTERM); exit != ExitUnusable {
		t.Errorf("exit code %d", exit)
	}
}
