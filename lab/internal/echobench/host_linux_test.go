package echobench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// TestMain makes the test binary a server's or a client's process, or one that
// says which processors it may use.
func TestMain(m *testing.M) {
	args := os.Args[1:]
	if len(args) == 0 || args[0] != "host" {
		os.Exit(m.Run())
	}
	time.AfterFunc(5*time.Minute, func() { os.Exit(3) })
	var err error
	switch size, _ := strconv.Atoi(args[3]); args[1] {
	case "server":
		var s Server
		if s, err = Lookup(args[2]); err == nil {
			err = HostServer(s, size, os.Stdin, os.Stdout)
		}
	case "client":
		err = HostClient(args[2], size, 1, false, os.Stdin, os.Stdout)
	case "processors":
		var may unix.CPUSet
		if err = unix.SchedGetaffinity(0, &may); err == nil {
			fmt.Println(may.Count(), may.IsSet(size))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A process is this binary in another role.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	said  strings.Builder
}

// role starts one. It has to end without an error when its input does, which
// under the race detector means that there was no race either.
func role(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), self, append([]string{"host"}, args...)...)}
	// The race detector would have each process wait for a second at its end.
	p.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	p.cmd.Stderr = &p.said
	p.cmd.WaitDelay = time.Minute
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// end closes the input and returns how the process ended.
func (p *process) end() error {
	p.in.Close()
	io.Copy(io.Discard, p.lines)
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(p.said.String()))
	}
	return nil
}

func (p *process) mustEnd() {
	p.t.Helper()
	if err := p.end(); err != nil {
		p.t.Error(err)
	}
}

func (p *process) line() string {
	p.t.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%v, %v", err, p.end())
	}
	return strings.TrimSpace(line)
}

func (p *process) ask(question string) string {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, question); err != nil {
		p.t.Fatal(err)
	}
	return p.line()
}

func TestEveryServerEchoesAllSizes(t *testing.T) {
	for _, s := range Servers() {
		for _, size := range []int{minSize, 128, 4096, 4097, 64 << 10, 1_000_003} {
			t.Run(fmt.Sprintf("%s/%d", s.Name, size), func(t *testing.T) {
				t.Parallel()
				server := role(t, "server", s.Name, strconv.Itoa(size))
				c, err := NewClient(server.line(), size, 1, s.TLS)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				// Other tests have the processors too: only what hangs is an error.
				c.timeout = 3 * time.Minute
				// Connections that come and go, and more of them than before.
				for _, conns := range []int{1, 20, 5} {
					if _, err := c.Connect(conns); err != nil {
						t.Fatalf("%d connections: %v", conns, err)
					}
					for _, ops := range []int{conns, 20*conns + 3} {
						if r, err := c.Closed(ops); err != nil || r.Check != Sum(ops) {
							t.Fatalf("%d messages on %d connections: %+v, %v", ops, conns, r, err)
						}
					}
					if size <= 4097 && !s.TLS {
						if r, err := c.Paced(100, 50*time.Microsecond); err != nil || r.Check != Sum(100) {
							t.Fatalf("paced on %d connections: %+v, %v", conns, r, err)
						}
					}
					c.HangUp()
					if got := server.ask("drain"); got != "true" {
						t.Errorf("after they hung up: %q", got)
					}
				}
				server.mustEnd()
			})
		}
	}
}

func TestAServersUsageIsThatOfItsWork(t *testing.T) {
	server := role(t, "server", "floor", "128")
	c, err := NewClient(server.line(), 128, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Connect(10); err != nil {
		t.Fatal(err)
	}
	usage := func() (u proc.Usage) {
		if err := json.Unmarshal([]byte(server.ask("usage")), &u); err != nil {
			t.Fatal(err)
		}
		return u
	}
	first, second := usage(), usage()
	idle := first.To(second)
	if _, err := c.Closed(20_000); err != nil {
		t.Fatal(err)
	}
	busy := second.To(usage())
	if first.From < first.Until || idle.CPU < 0 || busy.CPU < 20*time.Millisecond || busy.CPU < 10*idle.CPU {
		t.Errorf("20,000 echoes took %v, nothing took %v: %+v", busy.CPU, idle.CPU, first)
	}
	if busy.Mallocs > 50 {
		t.Errorf("%d allocations while the floor echoed", busy.Mallocs)
	}
	if rss, err := strconv.ParseInt(server.ask("rss"), 10, 64); err != nil || rss < 1<<20 || rss > 1<<30 {
		t.Errorf("%d bytes are resident: %v", rss, err)
	}
	server.mustEnd()
}

func TestAClientDoesWhatItIsAsked(t *testing.T) {
	server := role(t, "server", "std-4K", "100")
	client := role(t, "client", server.line(), "100")
	for _, c := range []struct {
		question string
		messages int
	}{{"connect 10", 10}, {"connect 10", 0}, {"closed 25", 25}, {"paced 12 100000", 12}, {"hangup", 0}, {"connect 2", 2}} {
		var r Result
		if line := client.ask(c.question); json.Unmarshal([]byte(line), &r) != nil || r.Messages != c.messages || r.Check != Sum(c.messages) {
			t.Errorf("%s: %s", c.question, line)
		}
	}
	client.mustEnd()
	server.mustEnd()
}

func TestAHostRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, question := range []string{"", "jump", "connect", "connect x", "connect -1", "closed 1 2", "paced 5", "hangup 3"} {
		server := role(t, "server", "floor", "100")
		client := role(t, "client", server.line(), "100")
		fmt.Fprintln(client.in, question)
		if err := client.end(); err == nil || !strings.Contains(err.Error(), "echo: ") {
			t.Errorf("client, %q: %v", question, err)
		}
		fmt.Fprintln(server.in, question)
		if err := server.end(); err == nil || !strings.Contains(err.Error(), "echo: ") {
			t.Errorf("server, %q: %v", question, err)
		}
	}
	if _, err := Lookup("nobody"); err == nil {
		t.Error("a server that there is not")
	}
	for _, size := range []string{"0", "15", "99999999"} {
		if err := role(t, "server", "floor", size).end(); err == nil {
			t.Errorf("a server of messages of %s bytes", size)
		}
	}
}

func TestAProcessIsBoundToItsProcessor(t *testing.T) {
	cpus, err := Processors()
	if err != nil {
		t.Skip(err)
	}
	if cpus[0] == cpus[1] {
		t.Fatalf("a server and its client on processor %d", cpus[0])
	}
	// The thread that is looked at is the one that was bound.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, cpu := range cpus {
		var inside unix.CPUSet
		var before, after unix.CPUSet
		if err := unix.SchedGetaffinity(0, &before); err != nil {
			t.Fatal(err)
		}
		p, err := OnProcessor(cpu, func() (*process, error) {
			return role(t, "processors", "-", strconv.Itoa(cpu)), unix.SchedGetaffinity(0, &inside)
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.line(); got != "1 true" {
			t.Errorf("a process on processor %d may use: %s", cpu, got)
		}
		p.mustEnd()
		if inside.Count() != 1 || !inside.IsSet(cpu) {
			t.Errorf("within, the thread may use %d processors", inside.Count())
		}
		if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
			t.Errorf("afterwards the thread may use other processors than before, %v", err)
		}
	}
	if _, err := OnProcessor(1000, func() (bool, error) { return true, nil }); err == nil {
		t.Error("bound to a processor that there is not")
	}
}
