//go:build linux

package realtest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// How the tests are built, the program is built.
var detector, invariants bool

// measured tells whether figures of time and memory mean anything.
func measured() bool { return !detector && !invariants }

// lengthened is how long what takes d is awaited: it bounds what hangs, and other tests
// may keep the machine busy meanwhile.
func lengthened(d time.Duration) time.Duration { return max(4*d, 2*time.Minute) }

// workDir is where the program is built.
var workDir string

// atOnce is how many tests that are marked parallel run at a time, on however
// few processors: they wait most of the time.
const atOnce = "6"

func TestMain(m *testing.M) {
	flag.Set("test.parallel", atOnce) // what the command line gives comes later
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "sluice-realtest-")
		if err != nil {
			fmt.Fprintln(os.Stderr, "realtest:", err)
			return 1
		}
		defer os.RemoveAll(dir)
		workDir = dir
		return m.Run()
	}())
}

// builtProgram is the environment variable with the path of a program that is built.
const builtProgram = "SLUICE_TEST_PROGRAM"

// program builds the program, once; what debuggers read of it nothing here does.
var program = sync.OnceValues(func() (string, error) {
	if built := os.Getenv(builtProgram); built != "" { // by the test that started this one
		return built, nil
	}
	binary := filepath.Join(workDir, "sluice")
	args := []string{"build", "-ldflags=-w", "-o", binary}
	if detector {
		args = append(args, "-race")
	}
	if invariants {
		args = append(args, "-tags", "invariants")
	}
	out, err := exec.Command("go", append(args, "github.com/sluice-go/sluice/cmd/sluice")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go %q: %w\n%s", args, err, out)
	}
	return binary, nil
})

// sluice is the path of the program.
func sluice(t testing.TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tool is the path of a program that the machine must have.
func tool(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("none of %q in PATH: scripts/ensure-tools.sh installs what the tests need", names)
	return ""
}

// eventually asks until f has nothing to complain of, at most for limit.
func eventually(t testing.TB, limit time.Duration, f func() string) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	pause := 20 * time.Millisecond
	for {
		complaint := f()
		if complaint == "" {
			return
		}
		// To ask a browser or a server may cost more than what is waited for.
		pause = min(pause*5/4, 150*time.Millisecond)
		select {
		case <-time.After(pause):
		case <-deadline.C:
			t.Fatalf("after %v still: %s", limit, complaint)
		}
	}
}

// receive waits for a value, at most for limit.
func receive[T any](t testing.TB, limit time.Duration, what string, c <-chan T) T {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	select {
	case v := <-c:
		return v
	case <-deadline.C:
		t.Fatalf("no %s within %v", what, limit)
		panic("unreachable")
	}
}
