package calibrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// eventTimeout is the longest wait in these tests.
const eventTimeout = 2 * time.Minute

// TestMain makes the test binary answer the child commands, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		if err := Children()[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// self is the path of this binary.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheFloorEndsWithItsParent(t *testing.T) {
	p, err := startFloor(t.Context(), self(t), load.Echo)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	c, err := net.DialTimeout("tcp", p.addr, eventTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(eventTimeout))
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
	// What a parent that is killed leaves is a closed pipe.
	p.CloseStdin()
	if n, err := c.Read(got); n != 0 || err == nil || os.IsTimeout(err) {
		t.Errorf("the child lives on: %d bytes, %v", n, err)
	}
}

func TestStopIsTheEndOfTheFloor(t *testing.T) {
	p, err := startFloor(t.Context(), self(t), load.Ack)
	if err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if p.Ended() == nil { // its port may be another program's now
		t.Error("it lives on")
	}
	p.Stop() // once more is no harm
}

func TestFloorsThatDoNotStart(t *testing.T) {
	if _, err := startFloor(t.Context(), "", load.Echo); err == nil {
		t.Error("of no program")
	}
	if _, err := startFloor(t.Context(), "/nonexistent/program", load.Echo); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := startFloor(t.Context(), self(t), "smtp"); err == nil || !strings.Contains(err.Error(), `no protocol "smtp"`) {
		t.Errorf("it does not say why: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := startFloor(ctx, self(t), load.Echo); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// A program that says nothing, and does not end.
	sleep, err := exec.LookPath("cat")
	if err != nil {
		t.Skip("no cat")
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := startFloor(ctx, sleep, load.Echo); err == nil {
		t.Error("cat is a target")
	}
}

func TestTheChildRefusesBadArguments(t *testing.T) {
	for _, args := range [][]string{nil, {""}, {"smtp"}, {"echo", "frame"}} {
		if err := Children()[floorName](args); err == nil {
			t.Errorf("%q does not fail", args)
		}
	}
}
