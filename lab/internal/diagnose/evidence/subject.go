package evidence

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

// A Target is what is looked at: a process, a command, a server, or files. A server may stand beside a
// process or command: it is its net/http/pprof.
type Target struct {
	Name    string // what Evidence calls it
	PID     int
	Command []string // started for the time of looking, again when it has ended
	URL     string   // host:port, http://host:port/debug/pprof/, or unix:PATH
	Files   []string
}

type started struct {
	*child.Process
	drained chan struct{} // closed when its output has ended
}

type subject struct {
	Target
	started *started
}

const (
	// warmUp is how long a command runs before it is looked at.
	warmUp = 300 * time.Millisecond
	// closeIn is how long it may take to end.
	closeIn = 2 * time.Second
)

// pid is the process to look at; 0 where there is a server or files only. A command is started, and started
// again when it has ended.
func (s *subject) pid(ctx context.Context) (int, error) {
	if len(s.Command) == 0 {
		return s.PID, nil
	}
	for try := range 2 {
		if s.started == nil {
			cmd := exec.Command(s.Command[0], s.Command[1:]...)
			p, err := child.Start(cmd, s.Command[0])
			if err != nil {
				return 0, err
			}
			s.started = &started{p, make(chan struct{})}
			go func(p *started) {
				defer close(p.drained)
				for range p.Lines() {
				}
			}(s.started)
			select {
			case <-p.Gone():
			case <-time.After(warmUp):
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		select {
		case <-s.started.Gone():
			why := s.started.Ended()
			s.stop()
			if try > 0 {
				return 0, fmt.Errorf("%s ends within %v, which is too short to be looked at: %w", strings.Join(s.Command, " "), warmUp, why)
			}
		default:
			return s.started.PID(), nil
		}
	}
	return 0, nil // not reached: the second try returns
}

func (s *subject) stop() {
	if s.started == nil {
		return
	}
	s.started.End(closeIn)
	<-s.started.drained
	s.started = nil
}
