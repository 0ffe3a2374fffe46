//go:build unix

package relay

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// A disk that does not answer when the server ends keeps the process for a while, and not for ever: the error says what
// was waited for. A pipe that has no reader is such a disk.
func TestADiskThatHangsDoesNotKeepTheProcess(t *testing.T) {
	dir := t.TempDir()
	c := relayConfig{Config: config.Default(), times: calm}
	c.RTMP, c.HTTP, c.RTSP, c.WebRTC, c.SRT = "127.0.0.1:0", "off", "off", "off", "off"
	c.EventHook, c.EventSpool = "http://127.0.0.1:9/", dir
	c.times.End = 120 * time.Millisecond
	s, err := c.server(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	disk := filepath.Join(dir, "position.new")
	if err := syscall.Mkfifo(disk, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	cancel()
	select {
	case err := <-served:
		if !errors.Is(err, ErrHangs) || !strings.Contains(err.Error(), "directory for") {
			t.Errorf("%v", err)
		}
	case <-time.After(relayWait / 4):
		t.Error("the server waits for the disk")
	}
	answers, err := os.OpenFile(disk, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	<-s.ended
}
