package cli

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
)

// echoWait bounds every wait for an echo server.
const echoWait = 2 * time.Minute

// An echoServer is a call of this binary as lab echo.
type echoServer struct {
	*program
	lines *bufio.Scanner // of its standard output, behind the first
}

// startEcho runs lab echo and reads its first line.
func startEcho(t *testing.T, args ...string) *echoServer {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM on this system")
	}
	s := &echoServer{program: newProgram(t, append([]string{"echo"}, args...)...)}
	s.Cmd.Stdout = nil
	pipe, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(echoWait, func() { s.Process.Kill() })
	defer late.Stop()
	s.lines = bufio.NewScanner(pipe)
	if !s.lines.Scan() {
		t.Fatalf("%q says nothing, %v: %s", args, s.lines.Err(), s.stderr.String())
	}
	return s
}

// end sends a signal, and returns what else was printed.
func (s *echoServer) end(t *testing.T, signal os.Signal) (rest []string, exit int) {
	t.Helper()
	if err := s.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(echoWait, func() { s.Process.Kill() })
	defer late.Stop()
	for s.lines.Scan() {
		rest = append(rest, s.lines.Text())
	}
	exit = code(t, s.Wait())
	s.clean(t)
	return rest, exit
}

// send sends a message of n bytes and checks that it comes back.
func send(t *testing.T, network, addr string, n int) net.Conn {
	t.Helper()
	c, err := net.DialTimeout(network, addr, echoWait)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(echoWait)); err != nil {
		t.Fatal(err)
	}
	sent := bytes.Repeat([]byte("a message, "), n/11+1)[:n]
	go c.Write(sent)
	got := make([]byte, n)
	if m, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d of %d bytes came back, %v", m, n, err)
	}
	return c
}

func TestEchoServes(t *testing.T) {
	for _, flags := range []string{"", "--engine std"} {
		s := startEcho(t, append(strings.Fields(flags), "127.0.0.1:0")...)
		addr, ok := strings.CutPrefix(s.lines.Text(), "listening on ")
		if !ok {
			t.Fatalf("%s: the first line is %q", flags, s.lines.Text())
		}
		idle := send(t, "tcp", addr, 1)
		for range 5 {
			send(t, "tcp", addr, 1).Close()
		}
		send(t, "tcp", addr, 500_000)
		rest, exit := s.end(t, syscall.SIGTERM)
		if exit != ExitOK || len(rest) != 1 || !strings.Contains(rest[0], " goroutine ") {
			t.Errorf("%s: exit code %d, behind the first line %q", flags, exit, rest)
		}
		if s.stderr.Len() > 0 {
			t.Errorf("%s: %s", flags, s.stderr.String())
		}
		if n, err := idle.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("%s: an idle connection goes on", flags)
		}
	}
}

func TestEchoOverAUnixSocket(t *testing.T) {
	for _, engine := range []string{"aio", "std"} {
		// Not the test's directory: the path of a socket has to be short.
		dir, err := os.MkdirTemp("", "echo")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "s")
		s := startEcho(t, "--engine", engine, "unix:"+path)
		if got := s.lines.Text(); got != "listening on unix:"+path {
			t.Errorf("the first line is %q", got)
		}
		send(t, "unix", path, 100_000)
		if _, exit := s.end(t, os.Interrupt); exit != ExitOK {
			t.Errorf("exit code %d", exit)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the socket is left")
		}
	}
}

func TestEchoOutlivesClientsThatBreakOff(t *testing.T) {
	for _, engine := range []string{"aio", "std"} {
		s := startEcho(t, "--engine", engine, "127.0.0.1:0")
		addr := strings.TrimPrefix(s.lines.Text(), "listening on ")
		for range 20 {
			c := send(t, "tcp", addr, 100)
			// It has more to say than it reads of the answer, and breaks off: the
			// server writes to a connection that is reset.
			if err := c.(*net.TCPConn).SetLinger(0); err != nil {
				t.Fatal(err)
			}
			c.Write(make([]byte, 100_000))
			c.Close()
		}
		send(t, "tcp", addr, 100)
		if _, exit := s.end(t, syscall.SIGTERM); exit != ExitOK {
			t.Errorf("%s: exit code %d", engine, exit)
		}
	}
}

func TestEchoThatCannotListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, exit := run(t, "echo", l.Addr().String())
	if stderr := p.stderr.String(); exit != ExitFailure || !strings.HasPrefix(stderr, "lab: echo: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d: %s", exit, stderr)
	}
	if p.stdout.Len() > 0 {
		t.Errorf("printed %q", p.stdout.String())
	}
}

func TestEchoServesProfilesOnAnAddressOfItsOwn(t *testing.T) {
	s := startEcho(t, "--engine", "std", "--pprof", loopback.Host()+":0", "127.0.0.1:0") // no other test takes that later
	addr := strings.TrimPrefix(s.lines.Text(), "listening on ")
	for range 2 {
		s.lines.Scan()
	}
	url, ok := strings.CutPrefix(s.lines.Text(), "profiles on ")
	if !ok {
		t.Fatalf("the third line is %q", s.lines.Text())
	}
	client := http.Client{Timeout: echoWait}
	response, err := client.Get(url + "/heap?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || !strings.Contains(string(text), "# Mallocs = ") {
		t.Errorf("%v: no heap profile: %.200s", err, text)
	}
	send(t, "tcp", addr, 1000)
	if _, exit := s.end(t, syscall.SIGTERM); exit != ExitOK || s.stderr.Len() > 0 {
		t.Errorf("exit code %d: %s", exit, s.stderr.String())
	}
	if response, err := client.Get(url + "/"); err == nil {
		response.Body.Close()
		t.Error("the profiles are still served")
	}
}

// The first lets what was read be sent back, for seconds, to a client that does not take it.
func TestASecondInterruptEndsEchoAtOnce(t *testing.T) {
	s := startEcho(t, "127.0.0.1:0")
	c := send(t, "tcp", strings.TrimPrefix(s.lines.Text(), "listening on "), 1)
	for standstills := 0; standstills < 5; {
		if err := c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n, _ := c.Write(make([]byte, 256<<10)); n > 0 {
			standstills = -1
		}
		standstills++
	}
	endsBySignal(t, s.Cmd)
}
