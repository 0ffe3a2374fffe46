//go:build linux

package realtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// detector reports whether the tests, and so the program, have the race detector.
var detector bool

// lengthened is d, longer where everything is slower. Limits are for what hangs: the
// machine may be slow and busy.
func lengthened(d time.Duration) time.Duration {
	if detector {
		return 6 * d
	}
	return 3 * d
}

// workDir is where the program is built.
var workDir string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "sluice-sinktest-")
		if err != nil {
			fmt.Fprintln(os.Stderr, "realtest:", err)
			return 1
		}
		defer os.RemoveAll(dir)
		workDir = dir
		return m.Run()
	}())
}

// program builds the program, once; what debuggers read of it nothing here does.
var program = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(workDir, "lab")
	args := []string{"build", "-ldflags=-w", "-o", binary}
	if detector {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "github.com/sluice-go/sluice/lab")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go %q: %w\n%s", args, err, out)
	}
	return binary, nil
})

// labProgram is the path of the program.
func labProgram(t testing.TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// eventually asks until f has nothing to complain of, at most for limit.
func eventually(t testing.TB, limit time.Duration, f func() string) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		complaint := f()
		if complaint == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("after %v still: %s", limit, complaint)
		}
	}
}

// random is a source whose seed is in the test's log.
func random(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SLUICE_SINK_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SLUICE_SINK_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("SLUICE_SINK_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
