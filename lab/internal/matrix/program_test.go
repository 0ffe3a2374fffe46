package matrix

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asTarget makes this test binary behave as a target, or as a parent of one.
const asTarget = "SLUICE_MATRIX_TEST_AS_TARGET"

func TestMain(m *testing.M) {
	if os.Getenv(asTarget) == "" {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		fmt.Printf("listening on %v\nand more\n", l.Addr())
		if len(os.Args) > 2 {
			go keep(os.Args[2])
		}
		for {
			c, err := l.Accept()
			if err != nil {
				os.Exit(1)
			}
			go io.Copy(c, c)
		}
	case "mumble":
		fmt.Println("good morning")
		select {}
	case "fail":
		fmt.Fprintln(os.Stderr, "lab: the disk\nis full")
		os.Exit(1)
	case "silent":
		os.Exit(0)
	case "parent":
		p, err := itself("").Start(context.Background(), Target{Args: []string{"listen", "tidy"}})
		if err != nil {
			panic(err)
		}
		fmt.Println(p.PID(), p.Addr())
		select {}
	}
}

// keep makes a directory and waits for SIGTERM. When how is "tidy" it removes the
// directory, otherwise it ends without a word and leaves it.
func keep(how string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	dir, err := os.MkdirTemp("", "target")
	if err != nil {
		panic(err)
	}
	os.WriteFile(filepath.Join(dir, "records"), make([]byte, 1000), 0o600)
	fmt.Printf("the log is in %s, which is removed at the end\n", dir)
	<-asked
	if how == "tidy" {
		// A parent that is gone does not hear it, and must not be missed.
		fmt.Println("so many records")
		fmt.Fprintln(os.Stderr, "lab: connections were cut off")
		os.RemoveAll(dir)
	}
	os.Exit(0)
}

// itself is this test binary as a program.
func itself(temp string) Program {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	env := []string{asTarget + "=1"}
	if temp != "" {
		env = append(env, "TMPDIR="+temp)
	}
	return Program{Path: self, Env: env}
}

func TestAProcessListensAndEnds(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	for _, how := range []string{"tidy", "sloppy"} {
		aTarget(t, temp, how)
	}
}

func aTarget(t *testing.T, temp, how string) {
	p, err := itself("").Start(t.Context(), Target{Args: []string{"listen", how}, Keeps: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	eventually(t, "it keeps a file", func() bool { return p.Kept() == 1000 })
	if err := p.Ended(); err != nil || p.PID() == os.Getpid() || p.PID() <= 0 {
		t.Errorf("%v, process %d", err, p.PID())
	}
	for range 2 {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
	if p.Ended() == nil {
		t.Error("it goes on")
	}
	if c, err := net.DialTimeout("tcp", p.Addr(), time.Second); err == nil {
		c.Close()
		t.Error("somebody still listens")
	}
	if entries, _ := os.ReadDir(temp); len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
}

func TestAProcessThatDoesNotListen(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	for arg, says := range map[string]string{"mumble": "good morning", "fail": "the disk is full", "silent": "without a word"} {
		_, err := itself("").Start(t.Context(), Target{Args: []string{arg}, Keeps: true})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", arg, err)
		}
	}
	if _, err := (Program{Path: filepath.Join(temp, "nothing")}).Start(t.Context(), Target{}); err == nil {
		t.Error("a program that is not there")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	if p, err := itself("").Start(ctx, Target{Args: []string{"mumble"}}); !errors.Is(err, errBroken) && (err == nil || !strings.Contains(err.Error(), "good morning")) {
		t.Errorf("interrupted: %v, %v", p, err)
	}
	if entries, _ := os.ReadDir(temp); len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
}

func TestAProcessThatEndsByItselfSaysSo(t *testing.T) {
	p, err := itself("").Start(t.Context(), Target{Args: []string{"listen"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	process, err := os.FindProcess(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is noticed", func() bool { return p.Ended() != nil })
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("never: %s", what)
		}
	}
}

func TestATargetEndsWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a process with its parent")
	}
	temp := t.TempDir()
	self := itself(temp)
	parent := exec.CommandContext(t.Context(), self.Path, "parent")
	parent.Env = append(os.Environ(), self.Env...)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, addr, _ := strings.Cut(strings.TrimSpace(line), " ")
	if _, bad := strconv.Atoi(pid); err != nil || bad != nil {
		t.Fatalf("%q, %v", line, err)
	}
	kept := func() bool {
		files, err := filepath.Glob(filepath.Join(temp, "*", "records"))
		return err == nil && len(files) == 1
	}
	eventually(t, "the target keeps a file", kept)
	parent.Process.Kill()
	parent.Wait()
	eventually(t, "the target of a killed parent ends", func() bool {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	eventually(t, "the target has tidied up", func() bool {
		entries, err := os.ReadDir(temp)
		return err == nil && len(entries) == 0
	})
}
