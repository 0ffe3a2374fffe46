package command

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
	"github.com/sluice-go/sluice/live"
)

// run is the command of one stream.
type run struct {
	runner *Runner
	stream *live.Stream
	words  []string
	log    *slog.Logger
	stop   context.CancelFunc
}

// again runs the command, and again when it ends, until the stream ends or ctx is done.
func (c *run) again(ctx context.Context) {
	ctx, cancel := waiting.With(ctx, c.stream.Done())
	defer cancel()
	o := &c.runner.options
	for pause := o.Retry; ctx.Err() == nil; pause = min(2*pause, o.RetryMost) {
		if !c.runner.enter(ctx, func() { c.log.Warn("too many commands run: this one waits", "limit", o.Most()) }) {
			return
		}
		began := time.Now()
		err := c.once(ctx)
		if err == nil {
			err = errors.New("exit status 0") // as the others are called
		}
		c.runner.leave()
		if ctx.Err() != nil {
			c.log.Info("command ended with its stream")
			return
		}
		if time.Since(began) > o.RetryMost {
			pause = o.Retry // it worked for a while
		}
		c.log.Warn("command has ended, and is started again", "error", err, "after", pause)
		waiting.For(pause, ctx.Done())
	}
}

// once runs the command until it ends or ctx is done, after which it has the time of
// Options.Kill.
func (c *run) once(ctx context.Context) error {
	o := &c.runner.options
	env := environment(o.Hide, o.Of(c.stream.Name()).Env)
	words := expand(c.words, env)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = env
	out := &lines{log: c.log}
	cmd.Stdout, cmd.Stderr = out, out // the same: one goroutine writes
	cmd.WaitDelay = time.Second       // for output that a child of it holds open
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	c.runner.starts.Add(1)
	c.log.Info("command started", "pid", cmd.Process.Pid)
	g := &group{cmd: cmd}
	ended := make(chan error, 1)
	go func() {
		err := g.wait()
		out.flush()
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	g.signal(terminated)
	timer := time.NewTimer(o.Kill)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		g.signal(killed)
	}
	return <-ended
}

// environment is this process's without hidden variables, and with added ones.
func environment(hidden, added []string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(hidden, name)
	})
	return append(env, added...)
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces ${NAME} in arguments: a value stays one argument, or a part of one,
// whatever is in it.
func expand(words, env []string) []string {
	words = slices.Clone(words)
	for i := range words {
		if i == 0 {
			continue
		}
		words[i] = variable.ReplaceAllStringFunc(words[i], func(v string) string {
			value := ""
			for _, e := range env {
				if text, ok := strings.CutPrefix(e, v[2:len(v)-1]+"="); ok {
					value = text // the last one counts
				}
			}
			return value
		})
	}
	return words
}
