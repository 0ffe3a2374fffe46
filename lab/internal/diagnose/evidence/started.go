package evidence

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

type started struct {
	*child.Process
	drained chan struct{} // closed when its output has ended
}

const (
	// warmUp is how long a command runs before it is looked at.
	warmUp = 300 * time.Millisecond
	// closeIn is how long it may take to end.
	closeIn = 2 * time.Second
)

// pid is the process to look at; 0 where there is a server or files only. A command is started, and started
// again when it has ended.
func (g *gatherer) pid(ctx context.Context) (int, error) {
	if len(g.Command) == 0 {
		return g.PID, nil
	}
	for try := range 2 {
		if g.started == nil {
			cmd := exec.Command(g.Command[0], g.Command[1:]...)
			p, err := child.Start(cmd, g.Command[0])
			if err != nil {
				return 0, err
			}
			g.started = &started{p, make(chan struct{})}
			go func(s *started) {
				defer close(s.drained)
				for range s.Lines() {
				}
			}(g.started)
			select {
			case <-p.Gone():
			case <-time.After(warmUp):
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		select {
		case <-g.started.Gone():
			why := g.started.Ended()
			g.stop()
			if try > 0 {
				return 0, fmt.Errorf("%s ends within %v, which is too short to be looked at: %w", strings.Join(g.Command, " "), warmUp, why)
			}
		default:
			return g.started.PID(), nil
		}
	}
	return 0, nil // not reached: the second try returns
}

func (g *gatherer) stop() {
	if g.started == nil {
		return
	}
	g.started.End(closeIn)
	<-g.started.drained
	g.started = nil
}
