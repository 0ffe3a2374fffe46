//go:build unix

package command

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/logtest"
	"github.com/sluice-go/sluice/live"
)

// within bounds every wait.
const within = 2 * time.Minute

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(within); !holds(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// running is a runner whose command for every stream is a shell script.
type running struct {
	*Runner
	hub *live.Hub
	log *logtest.Log
	dir string

	mu     sync.Mutex
	script string
}

func start(t *testing.T, script string, most int, change func(*Options)) *running {
	t.Helper()
	r := &running{hub: live.NewHub(live.HubOptions{}), log: &logtest.Log{}, dir: t.TempDir(), script: script}
	o := Options{
		Of: func(stream string) Command {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.script == "" {
				return Command{}
			}
			return Command{Words: []string{"sh", "-c", r.script, "sh", "${SLUICE_STREAM}"}, Env: []string{"SLUICE_STREAM=" + stream, "OUT=" + r.dir}}
		},
		Most:  func() int { return most },
		Retry: 5 * time.Millisecond, Hide: []string{"A_SECRET"},
		Logger: slog.New(slog.NewTextHandler(r.log, nil)),
	}
	if change != nil {
		change(&o)
	}
	r.Runner = New(o)
	t.Cleanup(func() {
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		r.hub.Close()
		if t.Failed() {
			t.Log(r.log)
		}
	})
	return r
}

// publish begins a stream; end ends it.
func (r *running) publish(t *testing.T, name string) (end func()) {
	t.Helper()
	p, err := r.hub.Publish(name, live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.Begin(p.Stream())
	return p.Close
}

// file is what a script has written.
func (r *running) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(r.dir, name))
	return strings.TrimSpace(string(text))
}

// gone waits until a process is no more, or is only waited for.
func gone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of process "+pid, func() bool {
		if syscall.Kill(n, 0) != nil {
			return true
		}
		text, err := os.ReadFile("/proc/" + pid + "/stat")
		return err == nil && strings.Contains(string(text), ") Z ")
	})
}

// The command has the stream's name in its environment and, as one argument, where it
// asks for it; it has no secret; its output is in the log. It ends with the stream, with
// the children that it has, even when they take no SIGTERM.
func TestCommandLivesAsLongAsItsStream(t *testing.T) {
	t.Setenv("A_SECRET", "hunter2")
	r := start(t, `trap '' TERM; echo "$1|$SLUICE_STREAM|$A_SECRET"; echo $$ >$OUT/pid; sh -c 'trap "" TERM; echo $$ >$OUT/child; while :; do sleep 0.1; done' & wait; while :; do sleep 0.1; done`, 1,
		func(o *Options) { o.Kill = 50 * time.Millisecond })
	const name = "live/a; touch x $(id)"
	end := r.publish(t, name)
	eventually(t, "it runs, with a child", func() bool { return r.file("pid") != "" && r.file("child") != "" })
	pid, child := r.file("pid"), r.file("child")
	eventually(t, "its output is logged", func() bool { return strings.Contains(r.log.String(), fmt.Sprintf("line=%q", name+"|"+name+"|")) })
	end()
	gone(t, pid)
	gone(t, child)
	eventually(t, "nothing runs", func() bool { return !r.busy() })
}

func (r *Runner) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.on) > 0 || r.active > 0
}

// A command that takes SIGTERM has time to end by itself.
func TestCommandIsAskedToEnd(t *testing.T) {
	r := start(t, `trap 'echo asked >$OUT/asked; exit 0' TERM; echo yes >$OUT/ready; while :; do sleep 0.05; done`, 1, func(o *Options) { o.Kill = within })
	end := r.publish(t, "live/a")
	eventually(t, "it is ready", func() bool { return r.file("ready") == "yes" })
	end()
	eventually(t, "it has ended", func() bool { return !r.busy() })
	if r.file("asked") != "asked" {
		t.Error("it was not asked")
	}
}

// A command that ends is started again, whatever its end was; one that is not there, too.
func TestCommandIsStartedAgain(t *testing.T) {
	r := start(t, `echo x >>$OUT/starts; [ $(wc -l <$OUT/starts) -gt 1 ] || exit 3`, 1, func(o *Options) { o.RetryMost = 20 * time.Millisecond })
	end := r.publish(t, "live/a")
	eventually(t, "three starts", func() bool { return strings.Count(r.file("starts"), "x") >= 3 })
	end()
	eventually(t, "it has ended", func() bool { return !r.busy() })
	for _, want := range []string{`error="exit status 3"`, `error="exit status 0"`} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log does not say %s", want)
		}
	}
	none := start(t, "x", 1, func(o *Options) { o.Of = func(string) Command { return Command{Words: []string{"/there/is/none"}} } })
	end = none.publish(t, "live/a")
	eventually(t, "two attempts", func() bool { return strings.Count(none.log.String(), "no such file") >= 2 })
	end()
}

// No more commands run than may; the others follow when one has ended.
func TestCommandsAreBounded(t *testing.T) {
	r := start(t, `echo $$ >$OUT/$(basename $1); exec sleep 600`, 2, nil)
	ends := map[string]func(){}
	for _, name := range []string{"live/a", "live/b", "live/c"} {
		ends[name] = r.publish(t, name)
	}
	there := func() (list []string) {
		for _, name := range []string{"a", "b", "c"} {
			if r.file(name) != "" {
				list = append(list, "live/"+name)
			}
		}
		return list
	}
	eventually(t, "two run, one waits", func() bool { return len(there()) == 2 && strings.Contains(r.log.String(), "this one waits") })
	eventually(t, "two starts are counted", func() bool { return r.starts.Load() == 2 })
	ends[there()[0]]()
	eventually(t, "the third runs", func() bool { return len(there()) == 3 })
	for _, end := range ends {
		end()
	}
	eventually(t, "nothing runs", func() bool { return !r.busy() })
}

// A reload ends a command that has changed, begins the other one, and leaves alone what
// has not changed.
func TestCommandsAfterAReload(t *testing.T) {
	r := start(t, `echo $$ >$OUT/first; exec sleep 600`, 2, nil)
	r.publish(t, "live/a")
	// The process may have written before its start is counted.
	eventually(t, "it runs", func() bool { return r.file("first") != "" && r.starts.Load() == 1 })
	pid := r.file("first")
	r.Refresh(r.hub.Streams())
	if r.file("first") != pid || r.starts.Load() != 1 {
		t.Error("what has not changed was started again")
	}
	r.mu.Lock()
	r.script = `echo $$ >$OUT/second; exec sleep 600`
	r.mu.Unlock()
	r.Refresh(r.hub.Streams())
	eventually(t, "the other one runs", func() bool { return r.file("second") != "" })
	gone(t, pid)
	r.mu.Lock()
	r.script = ""
	r.mu.Unlock()
	r.Refresh(r.hub.Streams())
	gone(t, r.file("second"))
}

func TestLines(t *testing.T) {
	log := &logtest.Log{}
	l := &lines{log: slog.New(slog.NewTextHandler(log, nil))}
	for _, part := range []string{"one\ntw", "o\r\rthree\r\n", strings.Repeat("x", 2000), "\n", "\xff\x00bad\n", "last"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	l.flush()
	for _, want := range []string{"line=one", "line=two", "line=three", "line=" + strings.Repeat("x", maxLine) + "\n", "bad", "line=last"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in %s", want, log)
		}
	}
	for range 10 * maxRate {
		l.Write([]byte("flood\n"))
	}
	if n := strings.Count(log.String(), "flood"); n > 3*maxRate {
		t.Errorf("%d lines of a flood", n)
	}
}
