package evidence

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

func TestTheChildRefusesBadArguments(t *testing.T) {
	dir := t.TempDir()
	good := []string{"tiny/work", "writes", "1", "0.1", "cpu", dir, "2"}
	bad := [][]string{nil, good[:6]}
	for i, value := range []string{"nobody", "nothing", "-1", "0", "dance", dir + "/none", "0"} {
		args := slices.Clone(good)
		args[i] = value
		bad = append(bad, args)
	}
	for _, seconds := range []string{"NaN", "-1", "1e9", "x"} {
		args := slices.Clone(good)
		args[3] = seconds
		bad = append(bad, args)
	}
	child := Children([]lab.Scenario{*tiny()})[childName]
	for _, args := range bad {
		if err := child(args); err == nil {
			t.Errorf("%q did not fail", args)
		}
	}
}

func TestNothingIsLeftByACollectorThatIsKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process does not get another parent there")
	}
	dir := t.TempDir()
	cmd := exec.Command(self(t), "collect", dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the profile is being written", func() bool {
		files, _ := filepath.Glob(filepath.Join(dir, "*", "*", cpuFile))
		return len(files) > 0
	})
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the directory is empty", func() bool {
		files, err := os.ReadDir(dir)
		return err == nil && len(files) == 0
	})
	eventually(t, "the processes are gone", func() bool { return len(processesOf(dir)) == 0 })
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("in a minute it has not come to be that %s", what)
		}
	}
}

func TestTheChildEndsWithItsParent(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(self(t), "child", childName, "tiny/work", "locks", "1", "100", "watched", t.TempDir(), "2")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	line := make([]byte, len("ready\n"))
	if _, err := out.Read(line); err != nil || string(line) != "ready\n" {
		t.Errorf("it said %q, %v", line, err)
	}
	// What a parent that is killed leaves is a closed pipe.
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the child failed: %v", err)
	}
	if !late.Stop() {
		t.Error("the child lived on")
	}
}
