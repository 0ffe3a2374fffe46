package cli

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

const demoLimit = 3 * time.Minute

// A demo is started, a node is killed, on which the publisher moves, and started again;
// at the end of the input every process is gone.
func TestClusterDemo(t *testing.T) {
	p := newProgram(t, "cluster", "demo")
	p.Cmd.Stdout = nil
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(demoLimit, func() {
		in.Close()
		t.Errorf("it has not done this within %v", demoLimit)
	})
	defer late.Stop()
	lines := bufio.NewScanner(out)
	var text strings.Builder
	until := func(want string) string {
		t.Helper()
		for lines.Scan() {
			text.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), want) {
				return lines.Text()
			}
		}
		t.Fatalf("it has not said %q: %s%s", want, text.String(), p.stderr.String())
		return ""
	}
	web := regexp.MustCompile(`http://[0-9.:]+`)
	a := web.FindString(until("node a  watch"))
	until("node b  watch")
	c := web.FindString(until("node c  watch"))
	until("published to node a")
	demoPlays(t, c)
	io.WriteString(in, "x\na\n")
	until(`no node "x"`)
	until("node a is killed")
	until("published to node b")
	demoPlays(t, c)
	io.WriteString(in, "a\n")
	if got := web.FindString(until("node a  watch")); got != a {
		t.Errorf("a is at %s, and was at %s", got, a)
	}
	demoPlays(t, a)
	in.Close()
	until("all nodes have ended")
	if got := code(t, p.Wait()); got != 0 {
		t.Errorf("exit code %d: %s", got, p.stderr.String())
	}
	for _, address := range []string{a, c} {
		if resp, err := http.Get(address + "/healthz"); err == nil {
			resp.Body.Close()
			t.Errorf("%s still answers", address)
		}
	}
}

// demoPlays waits until a node serves the clip.
func demoPlays(t *testing.T, address string) {
	t.Helper()
	deadline := time.Now().Add(demoLimit)
	for {
		resp, err := http.Get(address + "/" + demoStream + ".flv?wait=10")
		if err == nil {
			n, _ := io.CopyN(io.Discard, resp.Body, 50_000)
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK && n == 50_000 {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not play: %v", address, err)
		}
		runtime.Gosched()
	}
}

func TestClusterDemoEndsInTime(t *testing.T) {
	p := newProgram(t, "cluster", "demo", "--for", "100ms")
	r, w, err := os.Pipe() // an input that does not end
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	p.Stdin = r
	if got := code(t, p.Run()); got != 0 || !strings.Contains(p.stdout.String(), "all nodes have ended") {
		t.Errorf("exit code %d: %s%s", got, p.stdout.String(), p.stderr.String())
	}
}

// What reads the demo's output goes away, as head does: no process stays.
func TestClusterDemoEndsWithItsOutput(t *testing.T) {
	p := newProgram(t, "cluster", "demo")
	p.Cmd.Stdout = nil
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, p.stderr.String())
	}
	address := regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	out.Close()
	p.Wait()
	for late := time.Now().Add(demoEnd); ; runtime.Gosched() {
		resp, err := http.Get(address + "/healthz")
		if err != nil {
			return
		}
		resp.Body.Close()
		if time.Now().After(late) {
			t.Fatalf("%s still answers", address)
		}
	}
}
