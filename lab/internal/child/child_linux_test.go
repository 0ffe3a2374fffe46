package child_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

// However its parent ends, a child does not stay.
func TestAKilledParentTakesItsChildrenAlong(t *testing.T) {
	p := start(t, "parent")
	line, err := p.Line(t.Context(), wait)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(line)
	pid, err := strconv.Atoi(fields[1])
	if err != nil || fields[0] != "here" {
		t.Fatalf("%q", line)
	}
	p.Stop()
	awaitEnd(t, pid)
}

// awaitEnd waits for the end of a process. One that init has not collected yet is gone as well.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(wait); syscall.Kill(pid, 0) == nil; runtime.Gosched() {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(text), ") Z ") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

// However a process ends, what it started in its group is gone with it: stopped, interrupted
// as strace is while it has a process of its own, or by itself.
func TestAProcessTakesItsOwnChildrenAlong(t *testing.T) {
	for name, end := range map[string]func(*child.Process){
		"stopped":     (*child.Process).Stop,
		"interrupted": func(p *child.Process) { p.Signal(syscall.SIGTERM) }, // SIGINT is ignored where tests run in the background of a script
		"ended":       func(p *child.Process) { p.Tell("end") },
	} {
		p, err := child.Start(exec.Command("sh", "-c", "sleep 60 & echo $!; read line"), "sh")
		if err != nil {
			t.Fatal(err)
		}
		defer p.Stop()
		line, err := p.Line(t.Context(), wait)
		if err != nil {
			t.Fatal(name, err)
		}
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(name, err)
		}
		end(p)
		p.Wait(t.Context(), wait)
		if p.Ended() == nil {
			t.Fatalf("%s: it goes on", name)
		}
		awaitEnd(t, pid)
	}
}

// What a process started in a group of its own may hold its pipes when it is gone itself.
func TestAProcessWhoseOwnChildLivesOnIsGone(t *testing.T) {
	p, err := child.Start(exec.Command("sh", "-c", "setsid sleep 60 & echo $!"), "sh")
	if err != nil {
		t.Fatal(err)
	}
	line, err := p.Line(t.Context(), wait)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(t.Context(), 30*time.Second); err != nil {
		t.Error(err)
	}
	if line, err := p.Line(t.Context(), wait); !errors.Is(err, io.EOF) {
		t.Errorf("%q, %v", line, err)
	}
	p.Stop()
	if pid, err := strconv.Atoi(line); err == nil {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}
