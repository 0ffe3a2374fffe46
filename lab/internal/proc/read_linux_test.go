package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asTarget makes this test binary a process to be read.
const asTarget = "SLUICE_PROC_TEST_AS_TARGET"

func TestMain(m *testing.M) {
	if os.Getenv(asTarget) != "" {
		target()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// target works when the test asks it to, and says when it is done: 200 calls of
// read(2) on a pipe, and 30 ms of processor time. Its name is one that parsers stumble on.
func target() {
	if err := os.WriteFile("/proc/self/comm", []byte(") R 1 (x y"), 0); err != nil {
		fmt.Println(err)
		return
	}
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
	one := []byte{1}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		for range 200 {
			unix.Write(p[1], one)
			unix.Read(p[0], one)
		}
		burn(30 * time.Millisecond)
		fmt.Println("done")
	}
}

// burn uses that much processor time of this process.
func burn(d time.Duration) {
	begin, _ := clock(0)
	for now := begin; now < begin+d; now, _ = clock(0) {
	}
}

func TestAnotherProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), asTarget+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the target says %q", lines.Text())
	}
	pid := cmd.Process.Pid
	a, err := Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, "work\n")
	if !lines.Scan() || lines.Text() != "done" {
		t.Fatalf("the target says %q", lines.Text())
	}
	b, err := Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	s := a.To(b)
	// The clock is precise; user and system go by the tick.
	if s.CPU < 25*time.Millisecond || s.CPU > time.Minute {
		t.Errorf("processor time %v, it used 30ms", s.CPU)
	}
	if s.Resident < 100<<10 || s.Threads < 1 {
		t.Errorf("%d bytes, %d threads", s.Resident, s.Threads)
	}
	if s.ReadCalls == nil || *s.ReadCalls < 200 || *s.ReadCalls > 400 || *s.WriteCalls < 200 || *s.WriteCalls > 400 {
		t.Errorf("calls: %+v, it made 200 of each", s)
	}
	if s.Voluntary == nil || s.Involuntary == nil {
		t.Error("no switches")
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := Read(pid); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), fmt.Sprint(pid)) {
		t.Errorf("after its end: %v", err)
	}
}

func TestTheOwnProcess(t *testing.T) {
	for _, pid := range []int{0, os.Getpid()} {
		a, err := Read(pid)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Read(pid)
		if err != nil {
			t.Fatal(err)
		}
		// Other goroutines of the test binary may do something, but not much.
		if s := a.To(b); s.ReadCalls == nil || *s.ReadCalls > 10 {
			t.Errorf("reading counts itself: %d calls", *s.ReadCalls)
		}
		var p [2]int
		if err := unix.Pipe(p[:]); err != nil {
			t.Fatal(err)
		}
		one := []byte{1}
		for range 100 {
			unix.Write(p[1], one)
			unix.Read(p[0], one)
		}
		unix.Close(p[0])
		unix.Close(p[1])
		burn(10 * time.Millisecond)
		c, err := Read(pid)
		if err != nil {
			t.Fatal(err)
		}
		s := b.To(c)
		if s.CPU < 10*time.Millisecond || s.CPU < s.User/2 {
			t.Errorf("%v of the processor, it was 10ms", s.CPU)
		}
		if s.ReadCalls == nil || *s.ReadCalls < 100 || *s.WriteCalls < 100 {
			t.Errorf("calls: %+v", s)
		}
		if s.Voluntary == nil || s.Resident <= 0 || s.Threads < 1 {
			t.Errorf("%+v", s)
		}
	}
}

func TestNoSuchProcess(t *testing.T) {
	if _, err := Read(-1); !errors.Is(err, os.ErrInvalid) {
		t.Error(err)
	}
	// Above the most that the kernel gives, 2^22.
	if _, err := Read(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
