package proc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	_ "net/http/pprof" // registers itself
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// spin uses the processor for a time of it.
func spin(t *testing.T, want time.Duration) {
	t.Helper()
	for before, n := time.Now(), uint64(1); ; n = n*6364136223846793005 + 1 {
		if n%4096 != 1 {
			continue
		}
		if time.Since(before) > want {
			return
		}
	}
}

func TestProcessorTimeIsThatOfTheProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the clock of a process steps too coarsely")
	}
	for _, pid := range []int{0, os.Getpid()} {
		began := time.Now()
		before, err := Read(pid)
		if err != nil {
			t.Fatal(err)
		}
		for used := time.Duration(0); used < 20*time.Millisecond; {
			spin(t, time.Millisecond)
			after, err := Read(pid)
			if err != nil {
				t.Fatal(err)
			}
			s := before.To(after)
			used = s.CPU
			if most := time.Since(began) * time.Duration(runtime.NumCPU()+1); s.CPU > most || s.Queued == nil || s.Resident < 1<<20 {
				t.Fatalf("%+v after %v", s, time.Since(began))
			}
		}
	}
}

func TestAnotherProcessIsRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("another process is read from /proc, which only Linux has")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r, err := Read(cmd.Process.Pid)
	if s := r.To(r); err != nil || s.CPU != 0 || s.Resident <= 0 || s.Queued == nil || *s.Queued != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	cmd.Process.Kill()
	// It has ended, and is there until Wait.
	for err == nil && t.Context().Err() == nil {
		_, err = Read(cmd.Process.Pid)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that its parent does not wait for: %v", err)
	}
	cmd.Wait()
	_, err = Read(cmd.Process.Pid)
	if want := fmt.Sprintf("proc: there is no process %d, or it has ended", cmd.Process.Pid); !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
		t.Errorf("a process that has ended: %v", err)
	}
}

// A server that starts a program for each request has used nothing itself.
func TestChildrenThatHaveEndedCount(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("another process is read from /proc, which only Linux has")
	}
	cmd := exec.Command("sh", "-c", `read go; sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'; echo done; read end`)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	before, err1 := Read(cmd.Process.Pid)
	io.WriteString(in, "\n")
	_, err2 = io.ReadFull(out, make([]byte, len("done\n")))
	after, err3 := Read(cmd.Process.Pid)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if s := before.To(after); s.CPU < 20*time.Millisecond {
		t.Errorf("%v", s.CPU)
	}
}

func TestWaitingIsOfThreadsThatAreThere(t *testing.T) {
	a := Reading{queued: map[int]time.Duration{1: 10, 2: 5, 3: 7}}
	b := Reading{queued: map[int]time.Duration{1: 15, 3: 2, 4: 3}} // 2 has ended, 3 is another with its number
	if s := a.To(b); s.Queued == nil || *s.Queued != 8 {
		t.Errorf("%v", s.Queued)
	}
	if s := (Reading{}).To(b); s.Queued != nil {
		t.Errorf("%v", *s.Queued)
	}
}

func TestUsageBetweenTwoMoments(t *testing.T) {
	u := Usage{Until: 12345678901, From: 12345678999, Mallocs: 7, Bytes: 1 << 40, GCs: 3}
	later := Usage{Until: u.From + 500, From: u.From + 900, Mallocs: 9, Bytes: 1<<40 + 5, GCs: 4}
	if got, want := u.To(later), (Work{500, 2, 5, 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := (Work{1, 2, 3, 4}).And(Work{10, 20, 30, 40}), (Work{11, 22, 33, 44}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
