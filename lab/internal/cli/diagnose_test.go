package cli

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/report"
)

func loadDiagnosis(t *testing.T, p *program, name string) *diagnose.Diagnosis {
	t.Helper()
	r, err := report.Open(filepath.Join(p.dir, name))
	if err != nil || r.Diagnosis == nil {
		t.Fatalf("%v: %+v", err, r)
	}
	return r.Diagnosis
}

// spin is a child with one thread that always computes, and net/http/pprof on the socket that is
// its argument.
func spin(args []string) error {
	child.Begin(time.Minute)
	_ = os.Remove(args[0]) // of the one before
	l, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	go http.Serve(l, nil)
	for {
		if _, err := count(1)(10_000); err != nil {
			return err
		}
	}
}

func TestDiagnosePrintsATableAndWritesJSON(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	command := []string{self, "child", "spin", socket}
	look := func(each time.Duration) (p *program, exit int, seen bool) {
		p, exit = run(t, append([]string{"diagnose", "--url", "unix:" + socket, "--time", each.String(), "--json", "d.json", "--"}, command...)...)
		if exit != 0 {
			return p, exit, false
		}
		d := loadDiagnosis(t, p, "d.json")
		return p, exit, len(d.Findings) > 1 && d.Evidence.CPU != nil && slices.ContainsFunc(d.Evidence.CPU.Stacks, func(s evidence.Stack) bool {
			return slices.ContainsFunc(s.Frames, func(f evidence.Frame) bool { return f.File == "program_test.go" })
		})
	}
	p, exit, seen := look(300 * time.Millisecond)
	for each := time.Second; exit == 0 && !seen && each < 20*time.Second; each *= 4 { // others may have had the processors
		p, exit, seen = look(each)
	}
	stdout, stderr := p.stdout.String(), p.stderr.String()
	if exit != 0 {
		t.Fatalf("exit code %d: %s", exit, stderr)
	}
	if !strings.HasPrefix(stdout, self) || !strings.Contains(stdout, "\nbuilt with go") || !strings.HasSuffix(stdout, "\nflame graphs: lab report d.json -o report.html\n") ||
		!strings.Contains(stdout, "cost  tool") || strings.Contains(stdout, "nothing stands out") || strings.Contains(stdout, "\x1b") {
		t.Errorf("%s", stdout)
	}
	if !strings.HasPrefix(stderr, "1/9 proc\n2/9 cgroup\n") || !strings.HasSuffix(stderr, "9/9 sharing\n") {
		t.Errorf("progress: %q", stderr)
	}
	d := loadDiagnosis(t, p, "d.json")
	if d.Evidence.CPU == nil || len(d.Findings) < 2 || d.Machine.Cores < 1 || strings.Join(d.Command[:2], " ") != "lab diagnose" || d.Evidence.Workload != strings.Join(command, " ") || d.Started.IsZero() {
		t.Errorf("%+v", d)
	}
	if !seen {
		t.Errorf("the program is not among the stacks of %+v", d.Evidence.CPU)
	}
	if got := files(t, p.dir); !slices.Equal(got, []string{"d.json"}) {
		t.Errorf("files %v", got)
	}
}

func TestDiagnoseOfACommand(t *testing.T) {
	p, exit := run(t, "diagnose", "--time", "200ms", "--", "sleep", "60")
	if stdout := p.stdout.String(); exit != 0 || !strings.HasPrefix(stdout, "sleep 60\n") || !strings.Contains(stdout, "nothing  no system call ended") && !strings.Contains(stdout, "nothing") {
		t.Errorf("exit code %d: %s%s", exit, stdout, p.stderr.String())
	}
}

func TestDiagnoseOfFiles(t *testing.T) {
	recorded := func(name string) string {
		path, err := filepath.Abs(filepath.Join("../diagnose/evidence/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	p, exit := run(t, "diagnose", recorded("cpu.pprof"), recorded("locked-sleep.trace"))
	stdout := p.stdout.String()
	if exit != 0 || !strings.Contains(stdout, "lock-over-io") || !strings.Contains(stdout, "strace") || !strings.Contains(stdout, "there is no file of it") {
		t.Errorf("exit code %d: %s%s", exit, stdout, p.stderr.String())
	}
	if p, exit := run(t, "diagnose", recorded("cpu.pprof"), recorded("cpu.pprof")); exit != ExitFailure {
		t.Errorf("the same file twice: exit code %d: %s", exit, p.stdout.String())
	}
	cut := filepath.Join(t.TempDir(), "cut.trace")
	if err := os.WriteFile(cut, []byte("go 1.22 trace\x00\x00\x00garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, exit := run(t, "diagnose", recorded("cpu.pprof"), cut); exit != ExitFailure || !strings.Contains(p.stderr.String(), cut) {
		t.Errorf("the file that is damaged is not named: exit code %d: %s", exit, p.stderr.String())
	}
}

func TestDiagnoseJSONOnStandardOutput(t *testing.T) {
	p, exit := run(t, "diagnose", "--time", "100ms", "--json", "-", "--", "sleep", "60")
	r, err := report.Read(&p.stdout, "x")
	if exit != 0 || err != nil || r.Diagnosis == nil || r.Diagnosis.Evidence.Workload != "sleep 60" {
		t.Errorf("exit code %d, %v, %+v", exit, err, r)
	}
	if !strings.Contains(p.stderr.String(), "sleep 60\n") || !strings.Contains(p.stderr.String(), "lab report FILE") {
		t.Errorf("no table on standard error: %s", p.stderr.String())
	}
}

func TestDiagnoseSaysWhyAProgramFailed(t *testing.T) {
	p, exit := run(t, "diagnose", "--json", "d.json", "--", "sh", "-c", "echo the wire broke >&2; exit 1")
	if exit != ExitFailure || p.stdout.Len() > 0 || !strings.Contains(p.stderr.String(), "the wire broke") {
		t.Errorf("exit code %d, %q, %q", exit, p.stdout.String(), p.stderr.String())
	}
	if got := files(t, p.dir); len(got) != 0 {
		t.Errorf("files %v", got)
	}
}

func TestDiagnoseLooksAtAServer(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	server := httptest.NewServer(mux)
	defer server.Close()
	// Something for the profile to see.
	stop := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-stop:
				return
			default:
				count(1)(10_000)
			}
		}
	}()
	defer func() { close(stop); <-gone }()
	p, exit := run(t, "diagnose", "--url", server.URL, "--time", "1s")
	stdout := strings.Join(strings.Fields(p.stdout.String()), " ") // where lines are broken depends on the rules in them
	if exit != 0 || !strings.HasPrefix(stdout, server.URL) || !strings.Contains(stdout, "strace missing: needs the process (--pid)") || !strings.Contains(stdout, "with --json FILE") {
		t.Errorf("exit code %d, %s, %s", exit, stdout, p.stderr.String())
	}
}

func TestDiagnoseOfNobodyFails(t *testing.T) {
	addr := loopback.Free(t)
	p, exit := run(t, "diagnose", "--url", addr, "--time", "1s")
	last := strings.TrimSpace(p.stderr.String())
	last = last[strings.LastIndexByte(last, '\n')+1:]
	if exit != ExitFailure || p.stdout.Len() > 0 || !strings.HasPrefix(last, "lab: diagnose: ") || !strings.Contains(last, addr) {
		t.Errorf("exit code %d, %q", exit, p.stderr.String())
	}
}

func TestAnInterruptedDiagnosisShowsWhatWasSeen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent an interrupt here")
	}
	p, exit := interrupted(t, 100*time.Millisecond)
	for each := 400 * time.Millisecond; exit == ExitOK && each < time.Minute; each *= 4 { // the signal came too late
		p, exit = interrupted(t, each)
	}
	if exit != ExitUnusable || !strings.Contains(p.stdout.String(), "cost  tool") || !strings.Contains(p.stdout.String(), "interrupted") {
		t.Errorf("exit code %d, %s", exit, p.stdout.String())
	}
	if d := loadDiagnosis(t, p, "d.json"); len(d.Evidence.Tools) == 0 || d.Evidence.Tools[0].State != evidence.OK {
		t.Errorf("%+v", d.Evidence.Tools)
	}
}

// interrupted looks at a program, with each tool for a time, and is interrupted when the last but one
// begins: the first has seen something then.
func interrupted(t *testing.T, each time.Duration) (p *program, exit int) {
	t.Helper()
	p = newProgram(t, "diagnose", "--time", each.String(), "--json", "d.json", "--", "sleep", "600")
	p.Cmd.Stderr = nil
	pipe, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "8/9") {
			if err := p.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	exit = code(t, p.Wait())
	p.clean(t)
	return p, exit
}
