package child_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

// wait bounds every wait of these tests.
const wait = 30 * time.Second

// TestMain makes the test binary a child when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "child" {
		os.Exit(m.Run())
	}
	switch os.Args[2] {
	case "echo":
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Println(lines.Text())
		}
	case "good":
		child.Begin(time.Minute)
		fmt.Println("ready")
		select {}
	case "fail":
		fmt.Fprintln(os.Stderr, "lab: the disk\nis full")
		os.Exit(1)
	case "many":
		for i := range 10_000 {
			fmt.Println(i)
		}
	case "old":
		child.Expire(time.Millisecond)
		select {}
	case "parent": // starts one that is deaf, and waits to be killed
		p, err := child.Start(child.Command(os.Args[0], "deaf"), "the deaf one")
		if err != nil {
			panic(err)
		}
		line, err := p.Line(context.Background(), wait)
		fmt.Println(line, p.PID(), err)
		select {}
	case "deaf":
		fmt.Println("here")
		select {}
	}
	os.Exit(0)
}

func start(t *testing.T, name string) *child.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := child.Start(child.Command(self, name), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func TestQuestionsAreAnswered(t *testing.T) {
	p := start(t, "echo")
	for i := range 3 {
		if err := p.Tell(strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Line(t.Context(), wait); err != nil || got != strconv.Itoa(i) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if err := p.Ended(); err != nil || p.PID() <= 0 {
		t.Error(err)
	}
	p.CloseStdin()
	if err := p.Wait(t.Context(), wait); err != nil {
		t.Error(err)
	}
	if err := p.Tell("more"); err == nil {
		t.Error("a process that is gone was told something")
	}
	if _, err := p.Line(t.Context(), wait); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestAChildEndsWithItsStandardInput(t *testing.T) {
	p := start(t, "good")
	if line, err := p.Line(t.Context(), wait); line != "ready" || err != nil {
		t.Fatal(line, err)
	}
	p.CloseStdin()
	if err := p.Wait(t.Context(), wait); err != nil {
		t.Error(err)
	}
}

func TestAChildThatFailsSaysWhy(t *testing.T) {
	p := start(t, "fail")
	var exit *exec.ExitError
	if err := p.Wait(t.Context(), wait); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Error(err)
	}
	_, err := p.Line(t.Context(), wait)
	if !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "the disk is full") || strings.Contains(err.Error(), "lab:") {
		t.Error(err)
	}
}

func TestAChildThatTalksIsNotHeldUpAtItsEnd(t *testing.T) {
	p := start(t, "many")
	for i := range 10_000 {
		if line, err := p.Line(t.Context(), wait); line != strconv.Itoa(i) {
			t.Fatal(i, line, err)
		}
	}
	q := start(t, "many") // is not read
	q.Stop()
	q.Stop()
	if q.Ended() == nil {
		t.Error("it goes on")
	}
}

// What a process has said is there for a reader that comes long after its end.
func TestALateReaderGetsAllThatWasSaid(t *testing.T) {
	p := start(t, "many")
	if err := p.Wait(t.Context(), wait); err != nil {
		t.Fatal(err)
	}
	<-time.After(1500 * time.Millisecond) // the time after which others may not write any more
	for i := range 10_000 {
		if line, err := p.Line(t.Context(), wait); line != strconv.Itoa(i) {
			t.Fatal(i, line, err)
		}
	}
}

func TestAChildDoesNotLiveForEver(t *testing.T) {
	if err := start(t, "old").Wait(t.Context(), wait); err == nil {
		t.Error("it ended well")
	}
}

func TestWhatIsNotThereIsNotStarted(t *testing.T) {
	if _, err := child.Start(child.Command("", "echo"), "x"); err == nil {
		t.Error("no program was started")
	}
	if _, err := child.Start(child.Command("/nonexistent/program", "echo"), "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
