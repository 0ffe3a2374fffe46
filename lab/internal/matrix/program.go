package matrix

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

// How long a process may take to listen, and to end when it is asked to.
const (
	startWithin = 30 * time.Second
	endWithin   = 5 * time.Second
)

// Of the lines of a target: the first, which its address follows; and the one of
// a target that keeps files, which its directory follows.
const (
	listening = "listening on "
	keeping   = "the log is in "
	removed   = ", which is removed at the end"
)

// A Program starts targets as processes of a program, whose first line of output
// says where they listen. A target's files are in a temporary directory of its
// own, which it removes when it ends.
type Program struct {
	Path string
	Env  []string // beside its own
}

// Start starts a target and returns when it listens. The process ends with this
// one.
func (p Program) Start(ctx context.Context, t Target) (Process, error) {
	cmd := exec.Command(p.Path, t.Args...)
	cmd.Env = append(os.Environ(), p.Env...)
	started, err := child.Start(cmd, "the target")
	if err != nil {
		return nil, err
	}
	c := &process{Process: started}
	line, err := c.Line(ctx, startWithin)
	addr, ok := strings.CutPrefix(line, listening)
	if err == nil && !ok {
		err = fmt.Errorf("its first line is %.100q, not where it listens", line)
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	c.addr, _, _ = strings.Cut(addr, " ")
	go c.follow()
	return c, nil
}

// process is a target that was started.
type process struct {
	*child.Process
	addr string
	dir  atomic.Pointer[string] // set when it has said it
	once sync.Once
	left error // what Stop returned
}

// follow reads what else is said, and remembers the directory.
func (c *process) follow() {
	for line := range c.Lines() {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), keeping); ok {
			if dir, ok := strings.CutSuffix(dir, removed); ok {
				c.dir.Store(&dir)
			}
		}
	}
}

func (c *process) Addr() string { return c.addr }

// Kept counts what is in the directory. Files that go while it counts are none.
func (c *process) Kept() (sum int64) {
	dir := c.dir.Load()
	if dir == nil {
		return 0
	}
	filepath.WalkDir(*dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// Stop asks the process to end, and ends it when it does not in time.
func (c *process) Stop() error {
	c.once.Do(func() {
		c.End(endWithin)
		// One that was killed has not done it.
		if dir := c.dir.Load(); dir != nil {
			c.left = os.RemoveAll(*dir)
		}
	})
	return c.left
}
