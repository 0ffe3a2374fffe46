package evidence

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// strace may wait for ever for a process that is in vfork, whose child it has stopped.
func TestAToolThatDoesNotLetGoIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("strace is a tool of Linux")
	}
	cmd := exec.Command("sh", "-c", `trap "" INT; echo "strace: Process 1 attached" >&2; while :; do sleep 1; done`)
	if err := attach(t.Context(), cmd, " attached", time.Millisecond); err != nil {
		t.Error(err)
	}
}

// A program whose children come and go is sampled, with those that stay.
func TestPerfIsTriedAgainWhenAProcessHasGone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("perf is a tool of Linux")
	}
	dir := t.TempDir()
	script := `#!/bin/sh
echo "$*" >>` + dir + `/calls
[ $(wc -l <` + dir + `/calls) -gt 2 ] && exit 0
[ $(wc -l <` + dir + `/calls) -gt 1 ] && exit 255
echo "Couldn't create thread/CPU maps: No such process" >&2
exit 244
`
	if err := os.WriteFile(filepath.Join(dir, "perf"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := perfRecord(t.Context(), os.Getpid(), filepath.Join(dir, "data"), time.Millisecond); err != nil {
		t.Error(err)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil || strings.Count(string(calls), "\n") != 3 {
		t.Errorf("%v, called with\n%s", err, calls)
	}
	if err := os.WriteFile(filepath.Join(dir, "perf"), []byte("#!/bin/sh\nexit 7\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := perfRecord(t.Context(), os.Getpid(), filepath.Join(dir, "data"), time.Millisecond); err == nil || !strings.Contains(err.Error(), "perf failed: exit status 7") {
		t.Errorf("%v", err)
	}
}

// perf of a process that ends meanwhile ends with SIGTERM, and has written what it saw.
func TestPerfOfAProcessThatEndsIsKept(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("perf is a tool of Linux")
	}
	dir := t.TempDir()
	script := "#!/bin/sh\necho '[ perf record: Captured and wrote 0.024 MB perf.data ]' >&2\nexit 143\n"
	if err := os.WriteFile(filepath.Join(dir, "perf"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := perfRecord(t.Context(), os.Getpid(), filepath.Join(dir, "data"), time.Millisecond); err != nil {
		t.Error(err)
	}
}

// What a shell has started is the program, unless the shell works too; what both use counts.
func TestTheProgramBehindALauncherIsLookedAt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descendants are known on Linux")
	}
	for _, c := range []struct {
		script string
		behind bool
	}{
		{"while :; do :; done & wait", true},
		{"sleep 60 & while :; do :; done", false},
	} {
		cmd := exec.Command("sh", "-c", c.script)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		root := cmd.Process.Pid
		var list []int
		for len(list) < 2 && t.Context().Err() == nil {
			list = proc.Family(root)
		}
		child := list[1]
		before, err := proc.Read(root)
		want := root
		if c.behind {
			want = child
		}
		got := leaderOf(t.Context(), root)
		for try := 0; got != want && try < 50; try++ { // the machine may have had no time for it
			got = leaderOf(t.Context(), root)
		}
		if got != want {
			t.Errorf("%s: process %d is looked at, of %v", c.script, got, list)
		}
		after, err2 := proc.Read(root)
		if s := before.To(after); err != nil || err2 != nil || s.CPU <= 0 {
			t.Errorf("%s: %v, %v, %v", c.script, s, err, err2)
		}
		if p, err := os.FindProcess(child); err == nil {
			p.Kill()
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
	if got := leaderOf(t.Context(), os.Getpid()); got != os.Getpid() {
		t.Errorf("a process without descendants: %d", got)
	}
}

// go run builds a program before it runs: what it builds with is not looked at, and neither is go itself.
func TestTheProgramThatGoRunBuildsIsLookedAt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descendants are known on Linux")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const waits = "EVIDENCE_TEST_WAITS"
	if os.Getenv(waits) != "" {
		io.Copy(io.Discard, os.Stdin)
		return
	}
	cmd := exec.Command("sh", "-c", "while :; do :; done & read built; kill $!; "+self+" -test.run="+t.Name()+" <&3", "run")
	cmd.Args[0], cmd.Env = "go", append(os.Environ(), waits+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	alive, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{alive}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer end.Close()
	alive.Close()
	for len(proc.Family(cmd.Process.Pid)) < 2 && t.Context().Err() == nil {
	}
	found := make(chan int)
	go func() { found <- leaderOf(t.Context(), cmd.Process.Pid) }()
	select {
	case pid := <-found:
		t.Errorf("process %d is looked at while there is no program", pid)
	case <-time.After(2 * leadIn):
		io.WriteString(stdin, "built\n")
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", <-found)); exe != self {
			t.Errorf("%s is looked at: %v", exe, err)
		}
	}
	stdin.Close()
}
