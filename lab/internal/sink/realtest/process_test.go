//go:build linux

package realtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// output collects what a process writes; safe for concurrent use.
type output struct {
	mu    sync.Mutex
	bytes []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes = append(o.bytes, p...)
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.bytes)
}

// tail is the end of what was written.
func (o *output) tail() string {
	s := o.String()
	return s[max(0, len(s)-4000):]
}

// lastLine is the last whole line.
func (o *output) lastLine() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	end := bytes.LastIndexByte(o.bytes, '\n')
	if end < 0 {
		return nil
	}
	return bytes.Clone(o.bytes[bytes.LastIndexByte(o.bytes[:end], '\n')+1 : end])
}

// A process is a program that a test has started. It ends with the test at the
// latest, and a test binary that is killed takes it along.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr output
	done           chan struct{} // closed when it has ended
}

func start(t testing.TB, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(labProgram(t), args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.WaitDelay = time.Minute
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait() // the state is looked at instead
		close(p.done)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill is kill -9.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait waits until the process has ended and returns its exit code.
func (p *process) wait(t testing.TB) int {
	t.Helper()
	deadline := time.NewTimer(lengthened(20 * time.Second))
	defer deadline.Stop()
	select {
	case <-p.done:
	case <-deadline.C:
		t.Fatalf("lab %q still runs: %s", p.cmd.Args[1:], p.stderr.tail())
	}
	for _, bad := range []string{"panic:", "DATA RACE", "fatal error:"} {
		if strings.Contains(p.stderr.String(), bad) {
			t.Errorf("lab %q: %s: %s", p.cmd.Args[1:], bad, p.stderr.tail())
		}
	}
	return p.cmd.ProcessState.ExitCode()
}

// term ends the process as an operator would.
func (p *process) term(t testing.TB) {
	t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.wait(t); code != 0 {
		t.Errorf("lab %q ended with %d: %s", p.cmd.Args[1:], code, p.stderr.tail())
	}
}

// A sink is a running lab sink.
type sink struct {
	*process
	name   string // of a node
	addr   string // that clients dial
	dir    string
	window string // what its answers promise
}

// startSink starts a sink and waits until it listens.
func startSink(t testing.TB, name, addr, dir string, flags ...string) *sink {
	t.Helper()
	args := append([]string{"sink", "--stats", "20ms", "--dir", dir}, flags...)
	s := &sink{process: start(t, append(args, addr)...), name: name, addr: addr, dir: dir}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("sink %s says\n%s", name, s.stderr.tail())
		}
	})
	eventually(t, lengthened(20*time.Second), func() string {
		if s.ended() {
			t.Fatalf("lab %q ended: %s", s.cmd.Args[1:], s.stderr.tail())
		}
		lines := strings.SplitN(s.stdout.String(), "\n", 3)
		if len(lines) < 3 {
			return "fewer than two lines on standard output"
		}
		s.addr, s.window = strings.TrimPrefix(lines[0], "listening on "), lines[1] // the next start has the same address
		return ""
	})
	return s
}

// stats are a sink's latest figures.
type stats struct {
	Records   uint64  // acknowledged
	Unwritten *uint64 // of async
	Raft      struct {
		Leader string
		Term   uint64
		Last   uint64
		Nodes  []struct {
			ID, State, Error string
			Last, Applied    uint64
		}
	}
}

func (s *sink) stats(t testing.TB) (now stats) {
	t.Helper()
	if line := s.stdout.lastLine(); bytes.HasPrefix(line, []byte("{")) {
		if err := json.Unmarshal(line, &now); err != nil {
			t.Fatalf("the line %q: %v", line, err)
		}
	}
	return now
}

// written is how many records a sink of --durability async, which began with an empty log, has
// said to be written at least: what a line has as acknowledged was so before its unwritten were
// counted.
func (s *sink) written(t testing.TB) (most uint64) {
	t.Helper()
	lines := strings.Split(s.stdout.String(), "\n")
	for _, line := range lines[:len(lines)-1] { // the last is not whole
		var now stats
		if !strings.HasPrefix(line, "{") {
			continue // what it said at the start
		}
		if err := json.Unmarshal([]byte(line), &now); err != nil || now.Unwritten == nil {
			t.Fatalf("the line %q: %v", line, err)
		}
		if now.Records > *now.Unwritten {
			most = max(most, now.Records-*now.Unwritten)
		}
	}
	return most
}

// A verdict is what lab sink verify --json says.
type verdict struct {
	Logs []struct {
		Dir           string
		Records, Last uint64
		Torn          int64
	}
	Acked struct {
		Entries, Found, Majority, Missing, Wrong uint64
		FirstMissing                             []uint64 `json:"first_missing"`
		FirstWrong                               []uint64 `json:"first_wrong"`
	}
}

// verify runs lab sink verify. code is its exit code.
func verify(t testing.TB, ackedFile string, dirs ...string) (v verdict, code int) {
	t.Helper()
	p := start(t, append([]string{"sink", "verify", "--json", "-", "--acked", ackedFile}, dirs...)...)
	code = p.wait(t)
	if err := json.Unmarshal([]byte(p.stdout.String()), &v); err != nil {
		t.Fatalf("verify %q ended with %d and %q: %s", dirs, code, p.stdout.tail(), p.stderr.tail())
	}
	return v, code
}

// mustHold fails the test when something that was acknowledged is not there.
func mustHold(t testing.TB, l *ledger, dirs ...string) verdict {
	t.Helper()
	v, code := verify(t, l.file(t), dirs...)
	if code != 0 || v.Acked.Found != v.Acked.Entries || v.Acked.Entries != uint64(l.len()) {
		t.Fatalf("verify ended with %d: %+v", code, v)
	}
	text := fmt.Sprintf("%d acknowledged, all found in", v.Acked.Entries)
	for _, log := range v.Logs {
		text += fmt.Sprintf(" %d", log.Records)
	}
	t.Log(text)
	return v
}

// fileSize is how long a file is.
func fileSize(t testing.TB, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
