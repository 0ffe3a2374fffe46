package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asProgram makes this test binary behave as the program.
const asProgram = "SLUICE_EXAMPLE_AS_PROGRAM"

// atMost bounds every wait for something that has to happen.
const atMost = 30 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// start runs the program and returns the address that it listens on.
func start(t *testing.T, args ...string) (addr string, program *exec.Cmd) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM on this system")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program = exec.CommandContext(t.Context(), self, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	program.Env = append(os.Environ(), asProgram+"=1")
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(atMost, func() { program.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		program.Process.Kill()
		t.Fatalf("the first line is %q, %v", line, err)
	}
	return addr, program
}

// terminate ends the program as a service manager does.
func terminate(t *testing.T, program *exec.Cmd) {
	t.Helper()
	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(atMost, func() { program.Process.Kill() })
	defer late.Stop()
	if err := program.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, atMost)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func TestEchoServer(t *testing.T) {
	listeners := "1"
	if runtime.GOOS == "linux" {
		listeners = "2"
	}
	addr, program := start(t, "-listeners", listeners)

	idle := dial(t, addr)
	for range 20 {
		c := dial(t, addr)
		sent := bytes.Repeat([]byte("a message of some length, "), 40000)
		go func() {
			c.Write(sent)
			c.CloseWrite()
		}()
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("%d of %d bytes came back as they were, %v", len(got), len(sent), err)
		}
	}

	terminate(t, program)
	if n, err := idle.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("an idle client reads %d bytes, %v, after the end", n, err)
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"extra"}, {"-listeners", "0"}, {"-addr", "nowhere"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
