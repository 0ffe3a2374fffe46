package cli

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/matrix"
	"github.com/sluice-go/sluice/lab/internal/report"
)

// tinyGrid takes some tenths of a second.
var tinyGrid = []string{"matrix", "size-conns", "--layers", "std", "--rows", "64", "--columns", "1,4", "--rounds", "1", "--cell", "50ms"}

// orBusy reports whether a grid was measured: on a busy machine no run may be valid,
// which is said.
func orBusy(p *program, exit int) bool {
	return exit == ExitOK || exit == ExitUnusable && strings.Contains(p.stderr.String(), "no run was valid")
}

// loadedMatrix loads what a call left.
func loadedMatrix(t *testing.T, p *program, name string) *matrix.File {
	t.Helper()
	r, err := report.Open(filepath.Join(p.dir, name))
	if err != nil || r.Matrix == nil {
		t.Fatalf("%v: %+v", err, r)
	}
	return r.Matrix
}

func TestMatrixMeasuresAndSaves(t *testing.T) {
	p, exit := run(t, tinyGrid...)
	if !orBusy(p, exit) {
		t.Fatalf("exit code %d: %s%s", exit, p.stdout.String(), p.stderr.String())
	}
	for _, want := range []string{"cells: 2; rounds: 1; runs to make: 2 of 50ms, about ", "std: throughput; size down, connections across", "knee of std: ", "json: sluice-matrix-size-conns.json", "lab report sluice-matrix-size-conns.json -o report.html"} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("%q is not in\n%s", want, p.stdout.String())
		}
	}
	if !strings.Contains(p.stderr.String(), "0/2 round 1 of 1, ") {
		t.Errorf("progress: %s", p.stderr.String())
	}
	f := loadedMatrix(t, p, "sluice-matrix-size-conns.json")
	if f.Interrupted || f.Missing() != 0 || f.Seconds <= 0 || f.Command[1] != "matrix" || f.Machine.Cores < 1 {
		t.Errorf("%+v", f)
	}
	if left := files(t, p.dir); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

func TestMatrixInJSONOnly(t *testing.T) {
	p, exit := run(t, append(tinyGrid, "--json", "-")...)
	if !orBusy(p, exit) {
		t.Fatalf("exit code %d: %s", exit, p.stderr.String())
	}
	if r, err := report.Read(bytes.NewReader(p.stdout.Bytes()), "x"); err != nil || r.Matrix == nil || r.Matrix.Missing() != 0 {
		t.Errorf("%v: %s", err, p.stdout.String())
	}
	if !strings.Contains(p.stderr.String(), "knee of std") || len(files(t, p.dir)) != 0 {
		t.Errorf("%v, %s", files(t, p.dir), p.stderr.String())
	}
}

func TestMatrixKeepsWholeRunsWhenItIsInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGINT on this system")
	}
	p := newProgram(t, "matrix", "size-conns", "--layers", "std,aio", "--rows", "4K", "--columns", "1,2", "--rounds", "100", "--cell", "50ms", "--json", "m.json")
	p.Stderr = nil
	said, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { p.Process.Kill() })
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), " round 2 of 100") {
	}
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	exit := code(t, p.Wait())
	late.Stop()
	f := loadedMatrix(t, p, "m.json")
	if exit != ExitUnusable || !f.Interrupted || f.Missing() == 0 || f.Missing() == 400 || !strings.Contains(p.stdout.String(), "interrupted, ") {
		t.Errorf("exit code %d, %d runs are missing: %s", exit, f.Missing(), p.stdout.String())
	}
	if left := files(t, p.dir); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

// The result of an earlier grid stays where there is nothing to measure.
func TestMatrixOnATargetThatIsNotThere(t *testing.T) {
	p := newProgram(t, "matrix", "size-conns", "--target", "127.0.0.1:1")
	p.inDir(t, map[string][]byte{"sluice-matrix-size-conns.json": []byte("earlier")})
	exit := code(t, p.Run())
	text, err := os.ReadFile(filepath.Join(p.dir, "sluice-matrix-size-conns.json"))
	if exit != ExitFailure || err != nil || string(text) != "earlier" || !strings.Contains(p.stderr.String(), "127.0.0.1:1") {
		t.Errorf("exit code %d, %q, %v: %s%s", exit, text, err, p.stdout.String(), p.stderr.String())
	}
}

func TestMatrixOnAServerThatRunsAlready(t *testing.T) {
	server := startEcho(t, "--engine", "std", "127.0.0.1:0")
	addr := strings.TrimPrefix(server.lines.Text(), "listening on ")
	for _, grid := range []string{"size-conns --rows 64 --columns 1,2", "rate-network --layers 0s --rows 200 --columns none,5ms"} {
		p, exit := run(t, append(strings.Fields("matrix "+grid+" --rounds 1 --cell 200ms --json m.json --target"), addr)...)
		if !orBusy(p, exit) || !strings.Contains(p.stdout.String(), ", on "+addr) {
			t.Fatalf("%s: exit code %d: %s%s", grid, exit, p.stdout.String(), p.stderr.String())
		}
		f := loadedMatrix(t, p, "m.json")
		if f.Missing() != 0 || f.Target == nil || f.Target.Target != addr || len(f.Cells) != 2 {
			t.Errorf("%s: %+v", grid, f)
		}
		if slow := f.Cells[1].Runs[0]; f.Name == matrix.RateNetwork && slow.Valid && slow.Figures[matrix.Median] < 1e7 {
			t.Errorf("5 ms each way are a median of %v ns", slow.Figures[matrix.Median])
		}
	}
	if _, exit := server.end(t, syscall.SIGTERM); exit != ExitOK {
		t.Errorf("the server ended with %d", exit)
	}
}
