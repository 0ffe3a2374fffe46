package command

import (
	"os/exec"
	"sync"
)

// group is a started command with the children that it has.
type group struct {
	cmd *exec.Cmd

	mu   sync.Mutex
	over bool // the command's id may be another's from now on
}

// signal sends a signal to all of the group, while the command has not ended.
func (g *group) signal(s groupSignal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		signalGroup(g.cmd, s)
	}
}
