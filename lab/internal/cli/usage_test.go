package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestWrongCommandLinesCostOneLineAndExitCode2(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		line string
		says string
	}{
		{"frobnicate", "frobnicate"},
		{"--frobnicate", "frobnicate"},
		{"bench --frobnicate", "frobnicate"},
		{"bench nosuch", "nosuch"},
		{"bench fast nosuch", "nosuch"},
		{"bench [", "bad pattern"},
		{"bench --list nosuch", "nosuch"},
		{"bench --quick --full", "--quick and --full"},
		{"bench --check", "--full"},
		{"bench --quick --check", "--full"},
		{"bench --full --check --rounds 3", "15 rounds"},
		{"bench --rounds 0", "--rounds 0"},
		{"bench --rounds -1", "--rounds -1"},
		{"bench --rounds 1001", "--rounds 1001"},
		{"bench --rounds many", "many"},
		{"bench --rounds", "rounds"},
		{"bench --time 1ms", "--time 1ms"},
		{"bench --time -5s", "--time -5s"},
		{"bench --time 5", "5"},
		{"bench --seed -1", "-1"},
		{"bench --html -", "--html"},
		{"bench --json no/such/directory/x.json", "no/such/directory"},
		{"bench --html no/such/directory/x.html", "no/such/directory"},
		{"bench --json a --html ./a", "same file"},
		{"echo", "address"},
		{"echo 127.0.0.1:0 127.0.0.1:1", "address"},
		{"echo localhost", "localhost"},
		{"echo unix:", "path"},
		{"echo --engine gaio 127.0.0.1:0", "gaio"},
		{"echo --pprof :6060 127.0.0.1:0", "loopback"},
		{"echo --pprof 10.0.0.1:6060 127.0.0.1:0", "loopback"},
		{"echo --pprof localhost 127.0.0.1:0", "localhost"},
		{"help nosuch", "nosuch"},
		{"help bench fast", "bench fast"},
		{"completion bash", "completion"},
		{"child", "which"},
		{"child nosuch", "nosuch"},
		{"load", "address"},
		{"load 127.0.0.1:1 127.0.0.1:2", "address"},
		{"load localhost", "localhost"},
		{"load unix:", "path"},
		{"load 127.0.0.1:1,nowhere", "nowhere"},
		{"load --protocol smtp 127.0.0.1:1", "smtp"},
		{"load --conns 0 127.0.0.1:1", "0 connections"},
		{"load --conns 65537 127.0.0.1:1", "65537"},
		{"load --iodepth 0 127.0.0.1:1", "depth of 0"},
		{"load --size 4X 127.0.0.1:1", "--size: \"4X\""},
		{"load --size 0 127.0.0.1:1", "--size: \"0\""},
		{"load --size 9G 127.0.0.1:1", "\"9G\" is not a size such as 128 or 4KiB, or a range such as 64..1KiB, within 1 B and 64 MiB"},
		{"load --size 64..1 127.0.0.1:1", "\"64..1\""},
		{"load --conns 99999999999999999999 127.0.0.1:1", "--conns: \"99999999999999999999\" is out of range"},
		{"load --rate x 127.0.0.1:1", "--rate: \"x\" is not a number"},
		{"load --warmup 5 127.0.0.1:1", "--warmup: \"5\" is not a time such as 500ms"},
		{"load --seed -1 127.0.0.1:1", "--seed: \"-1\" is not a whole number from 0 on"},
		{"load --file-size 1MB file:x", "--file-size: \"1MB\" is not a size"},
		{"load --file-size 0 file:x", "--file-size 0"},
		{"load --file-size 1KiB file:x", "blocks of 4096 bytes in 1024 of a file"},
		{"load --keys 0 redis://127.0.0.1:1", "--keys 0"},
		{"load --pid 0 127.0.0.1:1", "--pid 0"},
		{"load --json= 127.0.0.1:1", "--json is empty"},
		{"load --search= 127.0.0.1:1", "--search is empty"},
		{"load --body= http://127.0.0.1:1", "--body is empty"},
		{"load --protocol ack --acks= 127.0.0.1:1", "--acks is empty"},
		{"load --protocol echo http://127.0.0.1:1", "--protocol is not for http://127.0.0.1:1"},
		{"load --threads 2 --engine portable 127.0.0.1:1", "threads"},
		{"load --threads 2 https://127.0.0.1:1", "threads"},
		{"load http://127.0.0.1:99999", "port of 1 to 65535"},
		{"load 127.0.0.1:99999", "port of 1 to 65535"},
		{"load ://", "port of 1 to 65535"},
		{"matrix rate-network --layers -1ms", "jitter of -1ms is not within 0s and 10s"},
		{"matrix rate-network --layers 100h", "jitter of 100h"},
		{"matrix rate-network --columns 5", "latency: \"5\" is not one, such as 1ms"},
		{"matrix rate-network --target unix:x", "lab: matrix: a network is simulated"},
		{"matrix size-conns --columns -1", "connections: -1 is not within 1 and 65536"},
		{"matrix size-conns --target 127.0.0.1:1 --pid 0", "--pid 0"},
		{"matrix size-conns --target 127.0.0.1:1 --pid 1073741824", "--pid 1073741824"},
		{"matrix size-conns --target 127.0.0.1:1 --layers std", "a target has none"},
		{"matrix size-conns --target http://127.0.0.1:1 --rows 64", "no size to choose"},
		{"sink verify --acked= .", "--acked is empty"},
		{"echo --pprof= 127.0.0.1:0", "--pprof is empty"},
		{"load --rate fast 127.0.0.1:1", "--rate"},
		{"load --rate -5 127.0.0.1:1", "rate of -5"},
		{"load --duration 1ms 127.0.0.1:1", "duration of 1ms"},
		{"load --warmup -1s 127.0.0.1:1", "warm-up of -1s"},
		{"load --engine uring 127.0.0.1:1", "uring"},
		{"load --threads -1 127.0.0.1:1", "-1 threads"},
		{"load --pid -1 127.0.0.1:1", "--pid -1"},
		{"load --pid 1073741824 127.0.0.1:1", "--pid 1073741824"},
		{"load --acks a.acks 127.0.0.1:1", "protocol ack"},
		{"load --protocol ack --acks no/such/directory/x 127.0.0.1:1", "--acks"},
		{"load --protocol ack --acks x --json ./x 127.0.0.1:1", "same file"},
		{"load --protocol ack --verify 127.0.0.1:1", "verified"},
		{"load --json no/such/directory/x 127.0.0.1:1", "no/such/directory"},
		{"load --timeout 0s 127.0.0.1:1", "timeout"},
		{"load --ca no/such/ca.pem https://127.0.0.1:1/", "no/such/ca.pem"},
		{"load --compare 127.0.0.1:1 nowhere", "nowhere"},
		{"load --compare --search P99=5ms 127.0.0.1:1 127.0.0.1:2", "--compare and --search"},
		{"load --reply fixed:3 127.0.0.1:1", "--request and --reply"},
		{"load --request r 127.0.0.1:1", "--request and --reply"},
		{"load --size 4KiB http://127.0.0.1:1/", "--size"},
		{"load --compare --acks x --protocol ack 127.0.0.1:1 127.0.0.1:2", "--acks"},
		{"matrix", "one grid"},
		{"matrix size-conns rate-network", "one grid"},
		{"matrix colours", "colours"},
		{"matrix size-conns --layers gaio", "gaio"},
		{"matrix size-conns --layers=", "--layers is empty"},
		{"matrix size-conns --rows 0", "size"},
		{"matrix size-conns --rows=", "--rows"},
		{"matrix size-conns --target nowhere", "nowhere"},
		{"matrix size-conns --target=", "--target"},
		{"matrix rate-network --layers much", "much"},
		{"matrix size-conns --rounds 0", "--rounds 0"},
		{"matrix size-conns --cell 1ms", "--cell 1ms"},
		{"matrix size-conns --seed -1", "-1"},
		{"matrix size-conns --json=", "--json"},
		{"matrix size-conns --json no/such/directory/x.json", "--json: open no/such/directory"},
		{"matrix size-conns --pid 1", "--pid goes with --target"},
		{"matrix size-conns --method GET", "--method goes with --target"},
		{"sink", "address"},
		{"sink localhost", "localhost"},
		{"sink unix:", "path"},
		{"sink --durability never 127.0.0.1:0", "never"},
		{"sink --durability sync --sync-every 1s 127.0.0.1:0", "--sync-every"},
		{"sink --durability async --sync-every 1us 127.0.0.1:0", "1µs"},
		{"sink --segment 1 127.0.0.1:0", "--segment 1"},
		{"sink --segment 64MB 127.0.0.1:0", "64MB"},
		{"sink --max-record 0 127.0.0.1:0", "--max-record 0"},
		{"sink --max-record 2GiB 127.0.0.1:0", "2GiB"},
		{"sink --stats 1us 127.0.0.1:0", "--stats"},
		{"sink --pprof :6060 127.0.0.1:0", "loopback"},
		{"sink --dir= 127.0.0.1:0", "--dir"},
		{"sink --trio 127.0.0.1:0", "--trio"},
		{"sink --durability raft 127.0.0.1:0", "--peers"},
		{"sink --durability raft --trio --id 1 127.0.0.1:0", "--id"},
		{"sink --durability raft --id 1 --peers 1=127.0.0.1:1 127.0.0.1:0", "--dir"},
		{"sink --durability raft --dir x --id 1 --peers 127.0.0.1:1 127.0.0.1:0", "name=host:port"},
		{"sink --durability raft --dir x --id 1 --peers 1=127.0.0.1:1,2=127.0.0.1:2 127.0.0.1:0", "2 peers"},
		{"sink --durability raft --dir x --id 4 --peers 1=127.0.0.1:1,2=127.0.0.1:2,3=127.0.0.1:3 127.0.0.1:0", "not among the peers"},
		{"sink --durability raft --trio --max-record 65MiB 127.0.0.1:0", "64 MiB"},
		{"sink verify", "directories"},
		{"sink verify --json no/such/directory/x .", "no/such/directory"},
		{"sink verify --json x --acked ./x .", "same file"},
		{"report", "results to report on"},
		{"report --frobnicate x.json", "frobnicate"},
		{"report --baseline old.json", "results to report on"},
		{"report --baseline old.json a.json b.json", "one result"},
		{"report --baseline= a.json", "--baseline"},
		{"report --baseline old.json --benchstat a.json", "exclude"},
		{"report --force a.json", "--baseline"},
		{"report --results docs --force", "--results"},
		{"report --results=", "--results"},
		{"report --json x a.json", "--baseline"},
		{"report --at-least 5 a.json", "--baseline"},
		{"report --baseline old.json --at-least 0 a.json", "--at-least 0"},
		{"report --baseline old.json --at-least -5 a.json", "--at-least -5"},
		{"report --baseline old.json --at-least NaN a.json", "NaN"},
		{"report --baseline old.json --at-least much a.json", "much"},
		{"report --baseline old.json --json= a.json", "--json"},
		{"report --baseline - -", "standard input"},
		{"report - -", "standard input"},
		{"report -o - a.json", "-o"},
		{"report --output= a.json", "-o"},
		{"report -o a.json ./a.json", "written over"},
		{"report --baseline old.json -o x --json ./x a.json", "same file"},
		{"diagnose", "what?"},
		{"diagnose nosuch", "nosuch"},
		{"diagnose faster/nosuch", "faster/nosuch"},
		{"diagnose faster --url localhost:1", "--url"},
		{"diagnose --url=", "--url"},
		{"diagnose --url ftp://localhost", "ftp://localhost"},
		{"diagnose --pid 7 faster", "--pid"},
		{"diagnose --pid 0", "--pid 0"},
		{"diagnose faster -- x", "before --"},
		{"diagnose --time 1ms faster", "--time 1ms"},
		{"diagnose --time 2m faster", "--time 2m"},
		{"diagnose --json no/such/directory/x.json -- sleep", "--json: open no/such/directory"},
	} {
		var out, errs bytes.Buffer
		exit := (App{Scenarios: synthetic(), Stdout: &out, Stderr: &errs}).Main(strings.Fields(c.line))
		stderr := errs.String()
		if exit != ExitUsage {
			t.Errorf("%s: exit code %d", c.line, exit)
		}
		if strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, "\n") {
			t.Errorf("%s: not one line:\n%s", c.line, stderr)
		}
		if !strings.HasPrefix(stderr, "lab: ") || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: %q does not say %q", c.line, stderr, c.says)
		}
		if out.Len() > 0 {
			t.Errorf("%s: printed %q", c.line, out.String())
		}
		if left := files(t, "."); len(left) > 0 {
			t.Errorf("%s: left %v", c.line, left)
		}
	}
}

func TestHelpHasOneExampleEach(t *testing.T) {
	for _, line := range []string{"--help", "bench --help", "echo --help", "matrix --help", "load --help", "sink --help", "sink verify --help", "help bench", ""} {
		p, exit := run(t, strings.Fields(line)...)
		text := p.stdout.String()
		if exit != 0 || p.stderr.Len() > 0 {
			t.Errorf("%q: exit code %d, %s", line, exit, p.stderr.String())
		}
		_, examples, ok := strings.Cut(text, "Examples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		if lines := strings.Split(strings.TrimSpace(examples), "\n"); !ok || len(lines) != 1 || !strings.HasPrefix(lines[0], "lab") {
			t.Errorf("%q: examples %q", line, examples)
		}
		for l := range strings.Lines(text) {
			if len(l) > 101 {
				t.Errorf("%q: a line of %d characters: %s", line, len(l)-1, l)
			}
		}
		if strings.Contains(text, "\n  child") {
			t.Errorf("%q: shows what is hidden", line)
		}
	}
	p, _ := run(t, "bench", "--help")
	for _, want := range []string{"Exit codes: 0", "--quick", "--full", "--check", "--json", "--html", "--seed"} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("the help of bench does not mention %s", want)
		}
	}
	p, _ = run(t, "echo", "--help")
	for _, want := range []string{"Exit codes: 0", "--engine", "--pprof", "unix:"} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("the help of echo does not mention %s", want)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left\non device") }

func TestHelpThatCannotBePrintedFails(t *testing.T) {
	for _, line := range []string{"", "--help", "help", "help bench", "bench --help", "sink verify --help", "--version"} {
		var errs bytes.Buffer
		exit := (App{Stdout: fullDisk{}, Stderr: &errs}).Main(strings.Fields(line))
		if want := "lab: no space left on device\n"; exit != ExitFailure || errs.String() != want {
			t.Errorf("%q: exit code %d, %q", line, exit, errs.String())
		}
	}
}

func TestVersionIsOneLine(t *testing.T) {
	p, exit := run(t, "--version")
	if text := p.stdout.String(); exit != 0 || !strings.HasPrefix(text, "lab ") || strings.Count(text, "\n") != 1 || !strings.Contains(text, " go1.") {
		t.Errorf("exit code %d, %q", exit, text)
	}
}

func TestChildrenAreCalledWithTheirArguments(t *testing.T) {
	p, exit := run(t, "child", "echo", "--size", "128", "-x")
	if exit != 0 || p.stdout.String() != "--size 128 -x\n" {
		t.Errorf("exit code %d, %q, %q", exit, p.stdout.String(), p.stderr.String())
	}
	p, exit = run(t, "child", "fail")
	if exit != ExitFailure || p.stderr.String() != "lab: child fail: two lines\n" {
		t.Errorf("exit code %d, %q", exit, p.stderr.String())
	}
}
