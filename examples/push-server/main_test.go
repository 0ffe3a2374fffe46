package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
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

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, atMost)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEachClientGetsTheLines(t *testing.T) {
	addr, program := start(t, "-every", "5ms", "-watchers", "2")
	var clients []*bufio.Scanner
	for range 10 {
		clients = append(clients, bufio.NewScanner(dial(t, addr)))
	}
	for i, c := range clients {
		// The last lines are written when all are there.
		for lines := 0; lines < 3; {
			if !c.Scan() {
				t.Fatalf("client %d got %d lines, then %v", i, lines, c.Err())
			}
			if strings.HasSuffix(c.Text(), ", 10 here") {
				lines++
			}
		}
	}
	terminate(t, program)
	for i, c := range clients {
		for c.Scan() {
			if !strings.HasSuffix(c.Text(), " here") {
				t.Errorf("client %d: the line %q is cut off", i, c.Text())
			}
		}
		if err := c.Err(); err != nil {
			t.Errorf("client %d: %v after the end", i, err)
		}
	}
}

func TestAClientThatDoesNotReadIsDisconnected(t *testing.T) {
	const line = 256 << 10
	memory := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, memory)
	listeners, err := aio.Listen(t.Context(), "tcp", "127.0.0.1:0", 1)
	if err != nil {
		t.Fatal(err)
	}
	addr := listeners[0].Addr().String()
	var said bytes.Buffer // written before Serve ends
	h := newHub(log.New(&said, "", 0), aio.SlowQueue)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- h.server(1, 4*line).Serve(ctx, listeners)
	}()
	quick, slow := dial(t, addr), dial(t, addr)
	deadline := time.Now().Add(atMost)
	for h.size() < 2 {
		if time.Now().After(deadline) {
			t.Fatal("the clients are not accepted")
		}
		runtime.Gosched()
	}

	// The lines fill the slow client's sockets, then its queue, while the quick
	// one takes each before there is another.
	buf := make([]byte, line)
	for pushed := 0; h.size() == 2; pushed++ {
		if pushed == 1000 {
			t.Fatalf("the slow client is still there after %d lines", pushed)
		}
		h.push(memory.Get(line))
		if _, err := io.ReadFull(quick, buf); err != nil {
			t.Fatalf("the quick client: %v", err)
		}
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Serve returns %v", err)
		}
	case <-time.After(atMost):
		t.Fatal("Serve does not end")
	}
	if n, err := quick.Read(buf); n != 0 || err != io.EOF {
		t.Errorf("the quick client reads %d bytes, %v, after the end", n, err)
	}
	if want := slow.LocalAddr().String() + " does not keep up: disconnected\n"; said.String() != want {
		t.Errorf("the log says %q, want %q", said.String(), want)
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"extra"}, {"-watchers", "0"}, {"-slow", "never"}, {"-every", "0s"}, {"-queue", "-1"}, {"-addr", "nowhere"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
