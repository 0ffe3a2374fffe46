package child_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
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
	for end := time.Now().Add(wait); syscall.Kill(pid, 0) == nil; {
		// A zombie that init has not collected yet is gone as well.
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(text), ") Z ") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("process %d lives on", pid)
		}
		runtime.Gosched()
	}
}
